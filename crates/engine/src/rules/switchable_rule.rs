//! Rules that are inactive while their switch is off.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;

use crate::rule::{Analyzer, Logical, Physical};
use tsql_store::Settings;

/// Returns whether this rule is switched on.
fn is_on(name: &str, options: &ConfigOptions) -> bool {
    let settings = options.extensions.get::<Settings>();
    settings.is_none_or(|settings| settings.rules.is_on(name))
}

/// A rule with a switch.
#[derive(Debug)]
pub(super) struct SwitchableRule<R> {
    /// Name of the switch.
    name: &'static str,
    rule: R,
    /// DataFusion's rule that this one replaces. It runs while the switch is off.
    original: Option<R>,
}

impl<R> SwitchableRule<R> {
    pub(super) fn new(name: &'static str, rule: R, original: Option<R>) -> Self {
        Self {
            name,
            rule,
            original,
        }
    }

    /// Returns the active rule, if any.
    fn active(&self, options: &ConfigOptions) -> Option<&R> {
        if is_on(self.name, options) {
            Some(&self.rule)
        } else {
            self.original.as_ref()
        }
    }
}

impl AnalyzerRule for SwitchableRule<Analyzer> {
    fn name(&self) -> &str {
        self.name
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        match self.active(options) {
            Some(rule) => rule.analyze(plan, options),
            None => Ok(plan),
        }
    }
}

impl OptimizerRule for SwitchableRule<Logical> {
    fn name(&self) -> &str {
        self.original.as_ref().map_or(self.name, |rule| rule.name())
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match self.active(&config.options()) {
            Some(rule) => rule.rewrite(plan, config),
            None => Ok(Transformed::no(plan)),
        }
    }
}

impl PhysicalOptimizerRule for SwitchableRule<Physical> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match self.active(options) {
            Some(rule) => rule.optimize(plan, options),
            None => Ok(plan),
        }
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match self.active(context.config_options()) {
            Some(rule) => rule.optimize_with_context(plan, context),
            None => Ok(plan),
        }
    }

    fn name(&self) -> &str {
        self.original.as_ref().map_or(self.name, |rule| rule.name())
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}
