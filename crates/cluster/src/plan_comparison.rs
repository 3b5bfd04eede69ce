//! Compares a plan with its deserialized copy.
//!
//! A worker runs the deserialized plan, so a property that the bytes do not carry would silently change a
//! result. Nodes and expressions are compared field by field; a node whose fields are not listed here differs.
//! Properties that a node derives from its fields and inputs (order, partitioning, statistics) are not
//! compared.

mod fields;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::{AggregateUDF, WindowFrame, WindowFrameBound};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _, Partitioning};
use datafusion_distributed::BroadcastExec;

use fields::{
    Difference, first_difference, same_expr, same_exprs, same_field, same_option, same_order,
    same_schema,
};

use super::windows::WindowCalls;

/// Compares a plan with its deserialized copy; `calls` are the window functions of its query.
///
/// # Errors
/// The node and its property that differ.
pub(super) fn compare(
    written: &Arc<dyn ExecutionPlan>,
    read: &Arc<dyn ExecutionPlan>,
    calls: &WindowCalls,
) -> Result<(), String> {
    let lost = compare_common(written, read).or_else(|| compare_node(written, read, calls));
    if let Some(property) = lost {
        return Err(format!(
            "its serialized form does not contain the {property} of {}",
            written.name()
        ));
    }
    let mut inputs = written.children().into_iter().zip(read.children());
    inputs.try_for_each(|(written, read)| compare(written, read, calls))
}

/// Returns the first property of any node that differs.
fn compare_common(written: &Arc<dyn ExecutionPlan>, read: &Arc<dyn ExecutionPlan>) -> Difference {
    let partitions = |plan: &Arc<dyn ExecutionPlan>| plan.output_partitioning().partition_count();
    first_difference([
        ("inputs", written.children().len() == read.children().len()),
        ("schema", same_schema(&written.schema(), &read.schema())),
        ("fetch", written.fetch() == read.fetch()),
        ("partitions", partitions(written) == partitions(read)),
    ])
}

/// Returns the first operator-specific property that differs.
#[expect(clippy::too_many_lines, reason = "a few lines for each operator")]
fn compare_node(
    written: &Arc<dyn ExecutionPlan>,
    read: &Arc<dyn ExecutionPlan>,
    calls: &WindowCalls,
) -> Difference {
    macro_rules! both {
        ($node:ty, $compared:expr) => {
            match (
                written.downcast_ref::<$node>(),
                read.downcast_ref::<$node>(),
            ) {
                (Some(written), Some(read)) => return $compared(written, read),
                (None, None) => {}
                _ => return Some("kind"),
            }
        };
    }
    macro_rules! without_fields {
        ($($node:ty),* $(,)?) => { $(both!($node, |_: &$node, _: &$node| None);)* };
    }
    let windows = |written: &[Arc<dyn WindowExpr>], read: &[Arc<dyn WindowExpr>]| {
        if written.len() != read.len() {
            return Some("window functions");
        }
        let mut pairs = written.iter().zip(read);
        pairs.find_map(|(written, read)| compare_window(written, read, calls))
    };
    both!(AggregateExec, compare_aggregation);
    both!(
        BoundedWindowAggExec,
        |a: &BoundedWindowAggExec, b: &BoundedWindowAggExec| {
            let mode = ("order of rows", a.input_order_mode == b.input_order_mode);
            first_difference([mode]).or_else(|| windows(a.window_expr(), b.window_expr()))
        }
    );
    both!(WindowAggExec, |a: &WindowAggExec, b: &WindowAggExec| {
        windows(a.window_expr(), b.window_expr())
    });
    both!(FilterExec, |a: &FilterExec, b: &FilterExec| {
        first_difference([
            ("condition", same_expr(a.predicate(), b.predicate())),
            ("columns", a.projection() == b.projection()),
        ])
    });
    both!(ProjectionExec, |a: &ProjectionExec, b: &ProjectionExec| {
        let (a, b) = (a.expr(), b.expr());
        let mut pairs = a.iter().zip(b);
        let is_same = a.len() == b.len()
            && pairs.all(|(a, b)| a.alias == b.alias && same_expr(&a.expr, &b.expr));
        first_difference([("expressions", is_same)])
    });
    both!(SortExec, |a: &SortExec, b: &SortExec| first_difference([
        ("sort keys", same_order(a.expr(), b.expr())),
        (
            "partitioning",
            a.preserve_partitioning() == b.preserve_partitioning()
        ),
    ]));
    both!(
        SortPreservingMergeExec,
        |a: &SortPreservingMergeExec, b: &SortPreservingMergeExec| first_difference([(
            "sort keys",
            same_order(a.expr(), b.expr())
        )])
    );
    both!(
        RepartitionExec,
        |a: &RepartitionExec, b: &RepartitionExec| first_difference([
            (
                "partitioning",
                same_partitioning(a.partitioning(), b.partitioning())
            ),
            ("order of rows", a.preserve_order() == b.preserve_order()),
        ])
    );
    both!(
        GlobalLimitExec,
        |a: &GlobalLimitExec, b: &GlobalLimitExec| first_difference([(
            "offset",
            a.skip() == b.skip()
        )])
    );
    both!(UnnestExec, |a: &UnnestExec, b: &UnnestExec| {
        first_difference([
            ("lists", a.list_column_indices() == b.list_column_indices()),
            (
                "structs",
                a.struct_column_indices() == b.struct_column_indices(),
            ),
            ("options", a.options() == b.options()),
        ])
    });
    both!(HashJoinExec, compare_hash_join);
    both!(SortMergeJoinExec, compare_merge_join);
    both!(
        NestedLoopJoinExec,
        |a: &NestedLoopJoinExec, b: &NestedLoopJoinExec| first_difference([
            ("kind of join", a.join_type() == b.join_type()),
            ("join filter", same_filter(a.filter(), b.filter())),
            ("columns", a.projection() == b.projection()),
        ])
    );
    both!(DataSourceExec, scan::compare_source);
    without_fields!(
        BroadcastExec,
        CoalescePartitionsExec,
        CooperativeExec,
        CrossJoinExec,
        EmptyExec,
        LocalLimitExec,
        PlaceholderRowExec,
        UnionExec,
    );
    Some("unknown fields")
}

/// Returns the name of the first property that differs.
fn compare_aggregation(written: &AggregateExec, read: &AggregateExec) -> Difference {
    let (a, b) = (written.group_expr(), read.group_expr());
    let named = |a: &[(Arc<dyn PhysicalExpr>, String)], b: &[(Arc<dyn PhysicalExpr>, String)]| {
        let mut pairs = a.iter().zip(b);
        a.len() == b.len() && pairs.all(|(a, b)| a.1 == b.1 && same_expr(&a.0, &b.0))
    };
    let limit = |of: &AggregateExec| {
        let options = of.limit_options();
        options.map(|options| (options.limit(), options.descending()))
    };
    let is_listed = written.aggr_expr().len() == read.aggr_expr().len();
    let filters = (written.filter_expr(), read.filter_expr());
    let mut filter_pairs = filters.0.iter().zip(filters.1);
    let filtered = filters.0.len() == filters.1.len()
        && filter_pairs.all(|(a, b)| same_option(a.as_ref(), b.as_ref()));
    let found = first_difference([
        ("mode", written.mode() == read.mode()),
        ("groups", named(a.expr(), b.expr())),
        ("grouping sets", named(a.null_expr(), b.null_expr())),
        ("grouping sets", a.groups() == b.groups()),
        (
            "grouping sets",
            a.has_grouping_set() == b.has_grouping_set(),
        ),
        ("functions", is_listed),
        ("FILTER", filtered),
        ("limit", limit(written) == limit(read)),
        (
            "columns",
            same_schema(&written.input_schema(), &read.input_schema()),
        ),
    ]);
    let mut pairs = written.aggr_expr().iter().zip(read.aggr_expr());
    found.or_else(|| pairs.find_map(|(written, read)| compare_aggregate(written, read)))
}

/// Returns true if a worker resolves the name to the same function. One of our functions may replace
/// DataFusion's function of the same name and signature, which optimizer rules may have put into the plan.
fn same_function(written: &AggregateUDF, read: &AggregateUDF) -> bool {
    written == read || (written.name() == read.name() && written.signature() == read.signature())
}

/// Compares aggregate functions, over groups or over a window.
fn compare_aggregate(written: &AggregateFunctionExpr, read: &AggregateFunctionExpr) -> Difference {
    first_difference([
        ("function", same_function(written.fun(), read.fun())),
        (
            "arguments",
            same_exprs(&written.expressions(), &read.expressions()),
        ),
        (
            "ORDER BY",
            same_order(written.order_bys(), read.order_bys()),
        ),
        ("DISTINCT", written.is_distinct() == read.is_distinct()),
        (
            "IGNORE NULLS",
            written.ignore_nulls() == read.ignore_nulls(),
        ),
        ("direction", written.is_reversed() == read.is_reversed()),
        ("type", same_field(&written.field(), &read.field())),
        ("name", written.name() == read.name()),
    ])
}

fn compare_window(
    written: &Arc<dyn WindowExpr>,
    read: &Arc<dyn WindowExpr>,
    calls: &WindowCalls,
) -> Difference {
    let found = first_difference([
        (
            "PARTITION BY",
            same_exprs(written.partition_by(), read.partition_by()),
        ),
        ("ORDER BY", same_order(written.order_by(), read.order_by())),
        (
            "frame",
            same_frame(written.get_window_frame(), read.get_window_frame()),
        ),
    ]);
    let named = || {
        let fields = written.field().ok().zip(read.field().ok());
        let same_type = fields.is_some_and(|(a, b)| same_field(&a, &b));
        first_difference([("type", same_type), ("name", written.name() == read.name())])
    };
    found
        .or_else(|| compare_window_function(written, read, calls))
        .or_else(named)
}

fn same_frame(a: &WindowFrame, b: &WindowFrame) -> bool {
    let same = |a: &WindowFrameBound, b: &WindowFrameBound| match (a, b) {
        (WindowFrameBound::Preceding(_), WindowFrameBound::Preceding(_))
        | (WindowFrameBound::Following(_), WindowFrameBound::Following(_))
            if a.is_unbounded() && b.is_unbounded() =>
        {
            true
        }
        _ => a == b,
    };
    a.units == b.units
        && same(&a.start_bound, &b.start_bound)
        && same(&a.end_bound, &b.end_bound)
        && a.is_causal() == b.is_causal()
}

fn compare_window_function(
    written: &Arc<dyn WindowExpr>,
    read: &Arc<dyn WindowExpr>,
    calls: &WindowCalls,
) -> Difference {
    let [plain, plain_read] =
        [written, read].map(|of| of.as_any().downcast_ref::<PlainAggregateWindowExpr>());
    let [sliding, sliding_read] =
        [written, read].map(|of| of.as_any().downcast_ref::<SlidingAggregateWindowExpr>());
    let over_rows = match (plain, plain_read, sliding, sliding_read) {
        (Some(a), Some(b), ..) => Some((a.get_aggregate_expr(), b.get_aggregate_expr())),
        (.., Some(a), Some(b)) => Some((a.get_aggregate_expr(), b.get_aggregate_expr())),
        _ => None,
    };
    if let Some((written, read)) = over_rows {
        let hidden = || calls.hidden_in_aggregate(written.fun().name());
        return compare_aggregate(written, read).or_else(hidden);
    }
    let function = |of: &'_ Arc<dyn WindowExpr>| {
        let standard = of.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr();
        function.as_any().downcast_ref::<WindowUDFExpr>().cloned()
    };
    let (Some(a), Some(b)) = (function(written), function(read)) else {
        return Some("kind");
    };
    let found = first_difference([
        ("function", a.fun() == b.fun()),
        ("arguments", same_exprs(a.args(), b.args())),
    ]);
    found.or_else(|| calls.hidden_in_window(a.fun(), written.order_by()))
}

fn compare_hash_join(a: &HashJoinExec, b: &HashJoinExec) -> Difference {
    first_difference([
        ("kind of join", a.join_type() == b.join_type()),
        ("join keys", same_keys(a.on(), b.on())),
        ("join filter", same_filter(a.filter(), b.filter())),
        ("mode", a.partition_mode() == b.partition_mode()),
        ("columns", a.projection == b.projection),
        (
            "equality of NULL",
            a.null_equality() == b.null_equality() && a.null_aware == b.null_aware,
        ),
    ])
}

fn compare_merge_join(a: &SortMergeJoinExec, b: &SortMergeJoinExec) -> Difference {
    first_difference([
        ("kind of join", a.join_type() == b.join_type()),
        ("join keys", same_keys(a.on(), b.on())),
        (
            "join filter",
            same_filter(a.filter().as_ref(), b.filter().as_ref()),
        ),
        ("sort options", a.sort_options() == b.sort_options()),
        ("equality of NULL", a.null_equality() == b.null_equality()),
    ])
}

type Keys = [(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)];

fn same_keys(a: &Keys, b: &Keys) -> bool {
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|(a, b)| same_expr(&a.0, &b.0) && same_expr(&a.1, &b.1))
}

fn same_filter(a: Option<&JoinFilter>, b: Option<&JoinFilter>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            same_expr(a.expression(), b.expression())
                && a.column_indices() == b.column_indices()
                && same_schema(a.schema(), b.schema())
        }
        _ => false,
    }
}

fn same_partitioning(a: &Partitioning, b: &Partitioning) -> bool {
    match (a, b) {
        (Partitioning::RoundRobinBatch(a), Partitioning::RoundRobinBatch(b))
        | (Partitioning::UnknownPartitioning(a), Partitioning::UnknownPartitioning(b)) => a == b,
        (Partitioning::Hash(a, m), Partitioning::Hash(b, n)) => m == n && same_exprs(a, b),
        _ => false,
    }
}
