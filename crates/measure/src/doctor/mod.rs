//! What would spoil timings on this machine, and what to do about it.
//!
//! [`examine`] looks for a quarter of a second at what can only be found by trying (see `probe`), then
//! judges each topic by itself. Levels: `ok` is as it should be, `note` is worth knowing when timings
//! are compared, `warning` makes timings wrong or noisy.

mod clocks;
mod finding;
mod permissions;
mod probe;
mod resources;
mod sharing;

use std::path::Path;

pub use finding::{Finding, Level};
pub(crate) use probe::Probe;

use crate::conditions::Conditions;
use crate::machine::Machine;

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

#[cfg(test)]
mod tests;
