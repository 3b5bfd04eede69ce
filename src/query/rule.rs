//! Optimizer rules of tsql: their scope and their position among DataFusion's rules.

use std::sync::Arc;

use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;

use super::limits::Limits;

pub(super) type Analyzer = Arc<dyn AnalyzerRule + Send + Sync>;
pub(super) type Logical = Arc<dyn OptimizerRule + Send + Sync>;
pub(super) type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// An optimizer rule.
pub(super) struct Rule {
    /// The setting `tsql.rules.NAME` switches it.
    pub(super) name: &'static str,
    /// One line of documentation, which `SHOW tsql.rules` prints.
    pub(super) documentation: &'static str,
    pub(super) scope: Scope,
    /// Planning steps at which it runs.
    pub(super) places: &'static [PlanningStep],
}

/// Sessions in which a rule runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Every,
    /// Sessions without workers. Workers run operators of DataFusion only, and divide files differently.
    Local,
    /// Sessions with a memory limit.
    Limited,
}

impl Scope {
    pub(super) fn includes(self, is_local: bool, limits: &Limits) -> bool {
        match self {
            Self::Every => true,
            Self::Local => is_local,
            Self::Limited => limits.memory_bytes.is_some(),
        }
    }
}

/// A planning step at which a rule runs.
pub(super) enum PlanningStep {
    /// After the analyzer rules that are listed before it.
    Analyzer(fn() -> Analyzer),
    Logical(Position, fn() -> Logical),
    /// Replaces DataFusion's rules of these names, and receives the original rule.
    AroundLogical(&'static [&'static str], fn(Logical) -> Logical),
    Physical(Position, fn(&Limits) -> Physical),
    /// Replaces DataFusion's rules of these names, and receives the original rule.
    AroundPhysical(&'static [&'static str], fn(Physical) -> Physical),
}

/// Position among the rules of a step.
#[derive(Clone, Copy)]
pub(super) enum Position {
    /// After all rules that are listed before it.
    End,
    /// Right before each of DataFusion's rules of this name.
    Before(&'static str),
    /// Right after each of DataFusion's rules of this name.
    After(&'static str),
}
