//! Optimizer rules of tsql: their scope and their position among DataFusion's rules.

use std::sync::Arc;

use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;

use crate::limits::Limits;

pub(crate) type Analyzer = Arc<dyn AnalyzerRule + Send + Sync>;
pub(crate) type Logical = Arc<dyn OptimizerRule + Send + Sync>;
pub(crate) type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// An optimizer rule.
pub(crate) struct Rule {
    /// The setting `tsql.rules.NAME` switches it.
    pub name: &'static str,
    /// One line of documentation, which `SHOW tsql.rules` prints.
    pub documentation: &'static str,
    pub scope: Scope,
    /// Planning steps at which it runs.
    pub places: &'static [PlanningStep],
}

/// Sessions in which a rule runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Every,
    /// Sessions without workers. Workers run operators of DataFusion only, and divide files differently.
    Local,
    /// Sessions with a memory limit.
    Limited,
}

impl Scope {
    pub(crate) fn includes(self, is_local: bool, limits: &Limits) -> bool {
        match self {
            Self::Every => true,
            Self::Local => is_local,
            Self::Limited => limits.memory_bytes.is_some(),
        }
    }
}

/// A planning step at which a rule runs.
pub(crate) enum PlanningStep {
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
pub(crate) enum Position {
    /// After all rules that are listed before it.
    End,
    /// Right before each of DataFusion's rules of this name.
    Before(&'static str),
    /// Right after each of DataFusion's rules of this name.
    After(&'static str),
}
