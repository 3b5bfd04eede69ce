//! Computes `count(DISTINCT x)` of dense integers in a bitmap.
//!
//! Statistics of the table decide whether the integers are dense and the groups few. Each group has a bitmap.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, AggregateUDF, Expr, ExprSchemable as _, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrites::cardinality::{has_few_groups, is_dense, leads_sort_order};
use tsql_functions::count_distinct_dense;

/// Analyzer rule that replaces `count(DISTINCT x)` by the bitmap aggregate.
///
/// It runs in the analyzer because the optimizer turns a single distinct aggregate into two levels of groups first.
#[derive(Debug)]
pub(crate) struct BitmapDistinct {
    function: Arc<AggregateUDF>,
}

impl BitmapDistinct {
    pub(crate) fn new() -> Self {
        let function = Arc::new(count_distinct_dense::udaf());
        Self { function }
    }

    /// Returns the bitmap aggregate for a count of distinct dense integers; `None` for anything else.
    fn replace_count(&self, expr: &Expr, input: &LogicalPlan) -> Result<Option<Expr>> {
        let call = match expr {
            Expr::Alias(alias) => return self.replace_count(&alias.expr, input),
            Expr::AggregateFunction(call) => call,
            _ => return Ok(None),
        };
        let params = &call.params;
        let [Expr::Column(column)] = params.args.as_slice() else {
            return Ok(None);
        };
        let simple = params.order_by.is_empty() && params.null_treatment.is_none();
        if call.func.name() != "count"
            || !params.distinct
            || !simple
            || Expr::Column(column.clone()).get_type(input.schema())? != DataType::Int64
            || !is_dense(column, input)
        {
            return Ok(None);
        }
        let function = Arc::clone(&self.function);
        let (args, filter) = (params.args.clone(), params.filter.clone());
        let counted = AggregateFunction::new_udf(function, args, false, filter, vec![], None);
        Ok(Some(Expr::AggregateFunction(counted)))
    }

    fn rewrite(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let names = NamePreserver::new_for_projection();
        let mut changed = false;
        let mut exprs = Vec::with_capacity(aggregate.aggr_expr.len());
        for expr in &aggregate.aggr_expr {
            exprs.push(match self.replace_count(expr, &aggregate.input)? {
                Some(counted) => {
                    changed = true;
                    names.save(expr).restore(counted)
                }
                None => expr.clone(),
            });
        }
        // Equal values of the sort order are adjacent, so their bitmaps are filled one after another.
        let groups = aggregate.group_expr.iter();
        let groups = groups.filter(|group| !leads_sort_order(group, &aggregate.input));
        if !changed || !has_few_groups(groups, &aggregate.input) {
            return Ok(Transformed::no(plan));
        }
        let input = Arc::clone(&aggregate.input);
        let aggregate = Aggregate::try_new(input, aggregate.group_expr.clone(), exprs)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

impl AnalyzerRule for BitmapDistinct {
    fn name(&self) -> &'static str {
        "bitmap_distinct"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.rewrite(plan))
            .data()
    }
}
