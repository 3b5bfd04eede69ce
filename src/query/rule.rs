//! A rule that this engine adds to DataFusion's, and where it runs.

use std::sync::Arc;

use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;

use super::limits::Limits;

pub(super) type Analyzer = Arc<dyn AnalyzerRule + Send + Sync>;
pub(super) type Logical = Arc<dyn OptimizerRule + Send + Sync>;
pub(super) type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// A rule.
pub(super) struct Rule {
    /// Its switch is `tsql.rules.NAME`.
    pub(super) name: &'static str,
    /// One line of documentation, which `SHOW tsql.rules` prints.
    pub(super) documentation: &'static str,
    pub(super) scope: Scope,
    /// The steps of planning at which it runs.
    pub(super) places: &'static [Place],
}

/// The sessions that have a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Every,
    /// Sessions without workers. Workers run operators of DataFusion only, and divide files differently.
    Local,
    /// Sessions with a memory limit.
    Limited,
}

impl Scope {
    pub(super) fn has(self, is_local: bool, limits: &Limits) -> bool {
        match self {
            Self::Every => true,
            Self::Local => is_local,
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
