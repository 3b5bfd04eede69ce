//! Rewrites windows over all rows of a label: joins one value per label from pre-aggregates.
//!
//! ```text
//! WindowAggr                               Projection: the same columns
//!   min(runtime_ns)                          Join: graph_id
//!     PARTITION BY graph_id        ─▶          min(__runtime_ns_min) by graph_id, from pre-aggregates
//!     records                                  records
//! ```
//!
//! Targets of training sets are often such windows: the runtime of a program relative to the best of its graph. With
//! the join, rows need no sort.

use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Window, WindowFunctionDefinition,
};

use super::aggregate::{rewrite_aggregate, strip_alias};

/// Joins the window values to the rows; `None` if the window must read rows.
pub(super) fn rewrite_window(window: &Window) -> Result<Option<LogicalPlan>> {
    let mut partition: Option<&[Expr]> = None;
    let mut aggregates = Vec::with_capacity(window.window_expr.len());
    for expr in &window.window_expr {
        let Expr::WindowFunction(call) = strip_alias(expr) else {
            return Ok(None);
        };
        let Some(aggregate) = whole_partition_aggregate(call) else {
            return Ok(None);
        };
        if *partition.get_or_insert(&call.params.partition_by) != call.params.partition_by {
            return Ok(None);
        }
        aggregates.push(Expr::AggregateFunction(aggregate).alias(value_name(aggregates.len())));
    }
    let columns = partition.unwrap_or_default().iter().map(Expr::try_as_col);
    let Some(columns) = columns.collect::<Option<Vec<&Column>>>() else {
        return Ok(None);
    };
    if columns.is_empty() {
        return Ok(None);
    }
    let labels = columns.iter().map(|column| Expr::Column((*column).clone()));
    let aggregate = Aggregate::try_new(window.input.clone(), labels.collect(), aggregates)?;
    let Some(values) = rewrite_aggregate(&aggregate)? else {
        return Ok(None);
    };
    // Fresh names, because the rows have columns of the same names.
    let label_name = |place: usize| format!("__label_{place}");
    let names = (0..columns.len()).map(label_name);
    let names = names.chain((0..window.window_expr.len()).map(value_name));
    let named = values.schema().columns().into_iter().zip(names);
    let named = named.map(|(column, name)| Expr::Column(column).alias(name));
    let named: Vec<Expr> = named.collect();
    let values = LogicalPlanBuilder::from(values).project(named)?;
    let left: Vec<Column> = (0..columns.len())
        .map(|place| Column::new_unqualified(label_name(place)))
        .collect();
    let right: Vec<Column> = columns.into_iter().cloned().collect();
    let joined = values.join_detailed(
        window.input.as_ref().clone(),
        JoinType::Inner,
        (left, right),
        None,
        NullEquality::NullEqualsNull,
    )?;
    let rows = window.input.schema().columns().into_iter();
    let mut outputs: Vec<Expr> = rows.map(Expr::Column).collect();
    let given = window.schema.iter().skip(outputs.len()).enumerate();
    outputs.extend(given.map(|(place, (qualifier, field))| {
        let value = Expr::Column(Column::new_unqualified(value_name(place)));
        value.alias_qualified(qualifier.cloned(), field.name())
    }));
    joined.project(outputs)?.build().map(Some)
}

fn value_name(place: usize) -> String {
    format!("__value_{place}")
}

/// Returns the aggregate of a window function; `None` unless its frame is the whole partition, in any order.
fn whole_partition_aggregate(call: &WindowFunction) -> Option<AggregateFunction> {
    let (params, frame) = (&call.params, &call.params.window_frame);
    let WindowFunctionDefinition::AggregateUDF(function) = &call.fun else {
        return None;
    };
    if !params.order_by.is_empty()
        || params.null_treatment.is_some()
        || !frame.start_bound.is_unbounded()
        || !frame.end_bound.is_unbounded()
    {
        return None;
    }
    let (args, filter) = (params.args.clone(), params.filter.clone());
    let aggregate = AggregateFunction::new_udf(
        function.clone(),
        args,
        params.distinct,
        filter,
        vec![],
        None,
    );
    Some(aggregate)
}
