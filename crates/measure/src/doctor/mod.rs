//! Checks for conditions of this machine that distort timings, with remedies.
//!
//! [`examine`] takes 0.25 s for measurements (see `probe`) and then evaluates each topic. Levels: `ok` is
//! no problem, `note` is useful when timings are compared, `warning` makes timings wrong or noisy.

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

/// Examines the machine. `scratch` is the folder that measurements write to.
pub fn examine(machine: &Machine, conditions: &Conditions, scratch: &Path) -> Vec<Finding> {
    findings(machine, conditions, &Probe::run(scratch, conditions.core))
}

/// Evaluates the readings.
pub(crate) fn findings(machine: &Machine, conditions: &Conditions, probe: &Probe) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(sharing::findings(machine, conditions, probe));
    findings.extend(clocks::findings(machine, conditions, probe));
    findings.extend(permissions::findings(machine, probe));
    findings.extend(resources::findings(machine, conditions, probe));
    findings
}

/// Formats the findings as a table, with hints below their findings.
pub fn format_table(findings: &[Finding]) -> Vec<String> {
    let width = findings
        .iter()
        .map(|finding| finding.topic.len())
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    for finding in findings {
        lines.push(format!(
            "{:<7}  {:<width$}  {}",
            finding.level.as_str(),
            finding.topic,
            finding.detail
        ));
        let hint = finding.hint.iter().flat_map(|hint| hint.lines());
        lines.extend(hint.map(|line| format!("{:<7}  {:<width$}  hint: {line}", "", "")));
    }
    lines
}

#[cfg(test)]
mod tests;
