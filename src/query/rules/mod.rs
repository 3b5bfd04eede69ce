//! The rules that this engine adds to DataFusion's: their names, order and documentation.
//!
//! Each can be switched off in a session: `SET tsql.rules.NAME = false`. `SHOW tsql.rules` lists them, and `EXPLAIN` names those
//! that have changed a plan. Optimizations change only how fast a result is computed and how much memory that takes; without a
//! workaround some results are wrong (see [`upstream_workarounds`]).
//!
//! Rules that others rely on have no switch: settings that make results wrong stay off, `COPY` writes whole files, filters of windows
//! are conditions on their arguments, and panics of readers are errors.

mod assembly;
mod explain;
mod optimizations;
mod switched;

use std::sync::LazyLock;

use super::rule::Rule;
use super::upstream_workarounds;
use crate::store::{RuleSwitch, RuleSwitches};
pub(super) use assembly::assembled;
pub(super) use explain::{LocalPlanner, NamingPlanner};

/// All rules, in their order.
fn all() -> impl Iterator<Item = &'static Rule> {
    let rules = [
        optimizations::FIRST,
        upstream_workarounds::RULES,
        optimizations::LAST,
    ];
    rules.into_iter().flatten()
}

/// The switches of a session, all of them on.
pub(super) fn switches() -> RuleSwitches {
    static SWITCHES: LazyLock<Vec<RuleSwitch>> = LazyLock::new(|| {
        let switches = all().map(|rule| RuleSwitch {
            name: rule.name,
            documentation: rule.documentation,
        });
        switches.collect()
    });
    RuleSwitches::new(&SWITCHES)
}

#[cfg(test)]
mod tests;
