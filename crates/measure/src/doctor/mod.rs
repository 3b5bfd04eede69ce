//! What would spoil timings on this machine, and what to do about it.
//!
//! [`examine`] looks for a quarter of a second at what can only be found by trying (see `probe`), then
//! judges each topic by itself. Levels: `ok` is as it should be, `note` is worth knowing when timings
//! are compared, `warning` makes timings wrong or noisy.

mod clocks;
mod permissions;
mod probe;
mod resources;
mod sharing;

use std::path::Path;

pub(crate) use probe::Probe;

use crate::conditions::Conditions;
use crate::machine::Machine;

/// How much a finding matters to timings; the worst is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// Worth knowing, and no fault.
    Note,
    /// It spoils timings.
    Warning,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
        }
    }
}

/// One topic and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The topic: `governor`, `busy`, ...
    pub(crate) what: String,
    pub(crate) detail: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Finding {
    fn ok(what: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            what: what.to_owned(),
            detail: detail.into(),
            hint: None,
        }
    }

    fn note(what: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            ..Self::ok(what, detail)
        }
    }

    fn warning(what: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::ok(what, detail)
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// Examines the machine; measurements will write below `scratch`.
pub fn examine(machine: &Machine, conditions: &Conditions, scratch: &Path) -> Vec<Finding> {
    findings(machine, conditions, &Probe::take(scratch, conditions.core))
}

/// Judges what was read and tried.
pub(crate) fn findings(machine: &Machine, conditions: &Conditions, probe: &Probe) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(sharing::findings(machine, conditions, probe));
    findings.extend(clocks::findings(machine, conditions, probe));
    findings.extend(permissions::findings(machine, probe));
    findings.extend(resources::findings(machine, conditions, probe));
    findings
}

/// The findings as lines of a table, hints below their findings.
pub fn lines(findings: &[Finding]) -> Vec<String> {
    let width = findings
        .iter()
        .map(|finding| finding.what.len())
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    for finding in findings {
        lines.push(format!(
            "{:<7}  {:<width$}  {}",
            finding.level.word(),
            finding.what,
            finding.detail
        ));
        let hint = finding.hint.iter().flat_map(|hint| hint.lines());
        lines.extend(hint.map(|line| format!("{:<7}  {:<width$}  hint: {line}", "", "")));
    }
    lines
}

/// A share as percent with one decimal.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests;
