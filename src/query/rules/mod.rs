//! The rules that this engine adds to DataFusion's: their names, order and documentation.
//!
//! Each can be switched off in a session: `SET tsql.rules.NAME = false`. `SHOW tsql.rules` lists them, and `EXPLAIN` names those
//! that have changed a plan. Optimizations change only how fast a result is computed and how much memory that takes; without a
//! workaround some results are wrong (see [`mended`]).
//!
//! Rules that are a condition of safety have no switch: settings that make results wrong stay off, `COPY` writes whole
//! files, and panics of readers are errors.

mod assembly;
mod explain;
mod optimizations;
mod switched;

use std::sync::{Arc, LazyLock};

use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;

use super::limits::Limits;
use super::mended;
use crate::store::{RuleSwitch, RuleSwitches};
pub(super) use assembly::assembled;
pub(super) use explain::Planner;
#[cfg(feature = "cluster")]
pub(crate) use explain::with_changed_rules;

pub(super) type Analyzer = Arc<dyn AnalyzerRule + Send + Sync>;
pub(super) type Logical = Arc<dyn OptimizerRule + Send + Sync>;
pub(super) type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// A rule.
pub(super) struct Rule {
    /// Its switch is `tsql.rules.NAME`.
    pub(super) name: &'static str,
    /// What it does, in one line.
    pub(super) documentation: &'static str,
    pub(super) scope: Scope,
    /// Where it runs, in the order of the list.
    pub(super) places: &'static [Place],
}

/// The sessions that have a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Every,
    /// Those without workers: plans of workers have operators of DataFusion only, and files are divided otherwise there.
    Local,
    /// Those without workers and without a memory limit.
    LocalUnlimited,
    /// Those with a memory limit.
    Limited,
}

impl Scope {
    fn has(self, is_local: bool, limits: &Limits) -> bool {
        match self {
            Self::Every => true,
            Self::Local => is_local,
            Self::LocalUnlimited => is_local && limits.memory_bytes.is_none(),
            Self::Limited => limits.memory_bytes.is_some(),
        }
    }
}

/// A step of planning at which a rule runs.
pub(super) enum Place {
    /// After the analyzer rules that are listed before it.
    Analyzer(fn() -> Analyzer),
    Logical(At, fn() -> Logical),
    /// In the place of DataFusion's rules of these names, which it gets.
    AroundLogical(&'static [&'static str], fn(Logical) -> Logical),
    Physical(At, fn(&Limits) -> Physical),
    /// In the place of DataFusion's rules of these names, which it gets.
    AroundPhysical(&'static [&'static str], fn(Physical) -> Physical),
}

/// A place among the rules of a step.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// After all that are listed before it.
    End,
    /// Right before each of DataFusion's rules of this name.
    Before(&'static str),
    /// Right after each of DataFusion's rules of this name.
    After(&'static str),
}

/// All rules, in their order.
fn all() -> impl Iterator<Item = &'static Rule> {
    let rules = [optimizations::FIRST, mended::RULES, optimizations::LAST];
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
