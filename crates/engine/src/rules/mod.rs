//! Rules that this engine adds to DataFusion's: names, order and documentation.
//!
//! Each rule can be switched off in a session: `SET tsql.rules.NAME = false`. `SHOW tsql.rules` lists them, and
//! `EXPLAIN` names those that changed a plan. Optimizations change only the time and memory of a query. Without a
//! workaround, some results are wrong (see [`workarounds`]).
//!
//! Rules on which others rely have no switch: settings that make results wrong stay off, `COPY` writes complete files,
//! filters of windows become conditions on their arguments, and panics of readers become errors.

mod assembly;
mod explain;
mod optimizations;
mod switchable_rule;

use std::sync::LazyLock;

use crate::rule::Rule;
use crate::workarounds;
pub(crate) use assembly::with_rules;
pub use explain::{ExplainRulesPlanner, LocalPlanner};
use tsql_store::{RuleSwitch, RuleSwitches};

/// Returns all rules in their order.
fn all_rules() -> impl Iterator<Item = &'static Rule> {
    let rules = [
        optimizations::FIRST,
        workarounds::RULES,
        optimizations::LAST,
    ];
    rules.into_iter().flatten()
}

/// Returns the switches of a session, all of them on.
pub fn switches() -> RuleSwitches {
    static SWITCHES: LazyLock<Vec<RuleSwitch>> = LazyLock::new(|| {
        let switches = all_rules().map(|rule| RuleSwitch {
            name: rule.name,
            documentation: rule.documentation,
        });
        switches.collect()
    });
    RuleSwitches::new(&SWITCHES)
}

#[cfg(test)]
mod tests;
