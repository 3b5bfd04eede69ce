//! Switches of optimizer rules: `SET tsql.rules.NAME = false`.

use std::collections::BTreeSet;

use datafusion::common::config::{ConfigField, Visit};
use datafusion::common::{DataFusionError, Result};

use tsql_error::nearest;

/// A rule that can be switched off.
#[derive(Clone, Copy, Debug)]
pub struct RuleSwitch {
    /// Its name, after `tsql.rules.`.
    pub name: &'static str,
    /// One line of documentation.
    pub documentation: &'static str,
}

/// Switches of the rules of a session. All are on by default.
#[derive(Clone, Debug, Default)]
pub struct RuleSwitches {
    /// Known rules. Empty on a worker, which accepts all names of the session that sends it a plan.
    known: &'static [RuleSwitch],
    off: BTreeSet<String>,
}

impl RuleSwitches {
    /// Creates the switches of these rules, all on.
    pub fn new(known: &'static [RuleSwitch]) -> Self {
        Self {
            known,
            off: BTreeSet::new(),
        }
    }

    /// Returns whether a rule is on.
    pub fn is_on(&self, name: &str) -> bool {
        !self.off.contains(name)
    }

    fn check(&self, name: &str) -> Result<()> {
        if self.known.is_empty() || self.known.iter().any(|known| known.name == name) {
            return Ok(());
        }
        let hint = match nearest(name, self.known.iter().map(|known| known.name)) {
            Some(meant) => format!("did you mean `tsql.rules.{meant}`?"),
            None => "`SHOW tsql.rules` lists them".to_owned(),
        };
        Err(DataFusionError::Configuration(format!(
            "there is no rule `{name}`\nhint: {hint}"
        )))
    }
}

impl ConfigField for RuleSwitches {
    fn visit<V: Visit>(&self, visitor: &mut V, key: &str, _: &'static str) {
        for RuleSwitch {
            name,
            documentation,
        } in self.known
        {
            let key = format!("{key}.{name}");
            visitor.some(&key, self.is_on(name), documentation);
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.check(name)?;
        let mut is_on = true;
        ConfigField::set(&mut is_on, "", value)?;
        if is_on {
            self.off.remove(name);
        } else {
            self.off.insert(name.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[RuleSwitch] = &[RuleSwitch {
        name: "range_join",
        documentation: "joins",
    }];

    #[test]
    fn rules_are_on_until_they_are_switched_off() {
        let mut switches = RuleSwitches::new(KNOWN);
        assert!(switches.is_on("range_join"));
        switches.set("range_join", "false").unwrap();
        assert!(!switches.is_on("range_join"));
        switches.set("range_join", "true").unwrap();
        assert!(switches.is_on("range_join"));
    }

    #[test]
    fn unknown_names_are_rejected_with_the_nearest_one() {
        let mut switches = RuleSwitches::new(KNOWN);
        let unknown = switches.set("range_joins", "false").unwrap_err();
        let text = unknown.to_string();
        assert!(text.contains("there is no rule `range_joins`"), "{text}");
        assert!(
            text.contains("did you mean `tsql.rules.range_join`?"),
            "{text}"
        );
        assert!(switches.set("range_join", "perhaps").is_err());
    }
}
