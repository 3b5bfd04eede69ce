//! Estimates of the number of rows and groups of a plan.

use std::any::Any;

use arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNode as _;
use datafusion::common::{Column, ColumnStatistics, JoinType, ScalarValue, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Case, Expr, ExprSchemable as _, LogicalPlan, TableScan};

use tsql_store::StoredTable;

/// Selectivity of a filter without statistics, as DataFusion assumes it.
const DEFAULT_FILTER_SELECTIVITY: f64 = 0.2;

/// Minimum size of a hash table entry for numbers, in bits.
const HASH_ENTRY_BITS: f64 = 64.0;

/// Minimum average number of rows per group for which a second aggregation step pays off.
const MIN_ROWS_PER_GROUP: f64 = 8.0;

/// Returns whether these expressions are known to form few groups over the rows of a plan.
pub(crate) fn has_few_groups<'a>(
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
) -> bool {
    is_few(estimate_groups(groups, plan), plan)
}

/// Returns whether the keys of a join with `other_side`, together with further expressions, are known to form few
/// groups.
///
/// Each key comes with its partner on the other side. If both columns of a key have about the same bounds, as a foreign
/// key and the referenced column do, the estimate is one key per row of the other side.
pub(crate) fn has_few_groups_with_keys<'a>(
    keys: &[(Expr, Expr)],
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
    other_side: &LogicalPlan,
) -> bool {
    let keys = keys.iter().map(|(key, partner)| {
        let rows = estimate_rows(other_side).filter(|rows| *rows > 0.0);
        let rows = rows.filter(|_| {
            have_same_bounds(
                integer_bounds_of(key, plan),
                integer_bounds_of(partner, other_side),
            )
        });
        min_of_known(estimate_distinct(key, plan), rows)
    });
    let keys = keys.product::<Option<f64>>();
    let groups = estimate_groups(groups, plan);
    is_few(keys.zip(groups).map(|(keys, groups)| keys * groups), plan)
}

/// Returns whether these expressions are known to form many groups: nearly as many as there are rows.
pub(crate) fn has_many_groups<'a>(
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
) -> bool {
    let (groups, rows) = (estimate_groups(groups, plan), estimate_rows(plan));
    matches!((groups, rows), (Some(groups), Some(rows)) if groups * MIN_ROWS_PER_GROUP > rows)
}

fn estimate_groups<'a>(
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
) -> Option<f64> {
    let groups = groups.into_iter();
    groups.map(|group| estimate_distinct(group, plan)).product()
}

fn is_few(groups: Option<f64>, plan: &LogicalPlan) -> bool {
    let rows = estimate_rows(plan);
    matches!((groups, rows), (Some(groups), Some(rows)) if groups * MIN_ROWS_PER_GROUP <= rows)
}

fn min_of_known(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Estimated number of rows; `None` if nothing is known.
pub(crate) fn estimate_rows(plan: &LogicalPlan) -> Option<f64> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let rows = known_count(&statistics(scan)?.num_rows)?;
            let part = if scan.filters.is_empty() {
                1.0
            } else {
                DEFAULT_FILTER_SELECTIVITY
            };
            Some(
                scan.fetch
                    .map_or(rows, |fetch| count_as_f64(fetch).min(rows))
                    * part,
            )
        }
        LogicalPlan::Filter(filter) => {
            let rows = estimate_rows(&filter.input)?;
            // The scan may contain the same conditions as well.
            Some(
                rows * if is_filtered(&filter.input) {
                    1.0
                } else {
                    DEFAULT_FILTER_SELECTIVITY
                },
            )
        }
        LogicalPlan::Projection(projection) => estimate_rows(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => estimate_rows(&alias.input),
        LogicalPlan::Union(union) => union.inputs.iter().map(|input| estimate_rows(input)).sum(),
        // Each row of the larger side has one partner.
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            Some(estimate_rows(&join.left)?.max(estimate_rows(&join.right)?))
        }
        _ => None,
    }
}

/// Returns whether an integer column is dense: one bit per integer between its bounds takes less memory than a hash
/// table of the values.
pub(crate) fn is_dense(column: &Column, plan: &LogicalPlan) -> bool {
    let (bounds, rows) = (bounds_of_column(column, plan), estimate_rows(plan));
    matches!((bounds, rows), (Some(bounds), Some(rows)) if integer_span(bounds) <= rows * HASH_ENTRY_BITS)
}

/// Returns whether rows are stored in the order of this column, so that equal values are adjacent.
pub(crate) fn leads_sort_order(expr: &Expr, plan: &LogicalPlan) -> bool {
    let Expr::Column(column) = expr else {
        return false;
    };
    let is_first = |scan: &TableScan, name: &str| {
        let provider = source_as_provider(&scan.source).ok()?;
        let provider: &dyn Any = provider.as_ref();
        let table = provider.downcast_ref::<StoredTable>()?.table();
        Some(table.sort.first().is_some_and(|first| first == name))
    };
    let column = stored_column(column, plan);
    column.is_some_and(|(scan, name)| is_first(scan, &name).unwrap_or(false))
}

/// Bounds of an integer column, both inclusive.
type IntegerBounds = (i128, i128);

fn integer_bounds_of(expr: &Expr, plan: &LogicalPlan) -> Option<IntegerBounds> {
    match expr {
        Expr::Column(column) => bounds_of_column(column, plan),
        _ => None,
    }
}

fn bounds_of_column(column: &Column, plan: &LogicalPlan) -> Option<IntegerBounds> {
    let (scan, name) = stored_column(column, plan)?;
    let position = scan.source.schema().index_of(&name).ok()?;
    integer_bounds(statistics(scan)?.column_statistics.get(position)?)
}

/// Number of integers between two bounds.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn integer_span((min, max): IntegerBounds) -> f64 {
    (max - min) as f64 + 1.0
}

/// Returns whether the bounds differ by less than a tenth of their span.
fn have_same_bounds(one: Option<IntegerBounds>, other: Option<IntegerBounds>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let most = integer_span(one).max(integer_span(other)) / 10.0;
    [(one.0, other.0), (one.1, other.1)]
        .into_iter()
        .all(|(one, other)| integer_span((one.min(other), one.max(other))) <= most.max(1.0))
}

/// Resolves a column to its scan and the name of the stored column, through aliases.
fn stored_column<'a>(column: &Column, plan: &'a LogicalPlan) -> Option<(&'a TableScan, String)> {
    let position = plan.schema().maybe_index_of_column(column)?;
    match plan {
        LogicalPlan::TableScan(scan) => {
            let name = scan.projected_schema.field(position).name();
            Some((scan, name.clone()))
        }
        LogicalPlan::Filter(filter) => stored_column(column, &filter.input),
        LogicalPlan::SubqueryAlias(alias) => {
            let column = Column::from(alias.input.schema().qualified_field(position));
            stored_column(&column, &alias.input)
        }
        LogicalPlan::Projection(projection) => {
            let expr = projection.expr.get(position)?.clone().unalias();
            match expr {
                Expr::Column(column) => stored_column(&column, &projection.input),
                _ => None,
            }
        }
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            let is_left = join.left.schema().has_column(column);
            stored_column(column, if is_left { &join.left } else { &join.right })
        }
        _ => None,
    }
}

/// Returns whether a plan is a scan with filters, possibly under an alias.
fn is_filtered(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => !scan.filters.is_empty(),
        LogicalPlan::SubqueryAlias(alias) => is_filtered(&alias.input),
        _ => false,
    }
}

/// Estimated upper bound of the number of distinct values of an expression, including NULL; `None` if nothing is known.
fn estimate_distinct(expr: &Expr, plan: &LogicalPlan) -> Option<f64> {
    let of_type = match expr.get_type(plan.schema()) {
        Ok(DataType::Boolean) => Some(3.0),
        Ok(DataType::Null) => Some(1.0),
        _ => None,
    };
    let of_expr = match expr {
        Expr::Alias(alias) => estimate_distinct(&alias.expr, plan),
        Expr::Literal(..) => Some(1.0),
        Expr::Column(column) => distinct_of_column(column, plan),
        Expr::Case(case) if has_constant_branches(case) => {
            Some(count_as_f64(case.when_then_expr.len() + 1))
        }
        _ if expr.is_volatile() || expr.contains_outer() || has_subquery(expr) => None,
        // A function of columns has at most as many values as there are combinations of their values.
        _ => {
            let columns = expr.column_refs().into_iter();
            columns
                .map(|column| distinct_of_column(column, plan))
                .product()
        }
    };
    min_of_known(of_type, of_expr)
}

fn has_subquery(expr: &Expr) -> bool {
    let is_subquery = |part: &Expr| {
        matches!(
            part,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
        )
    };
    expr.exists(|part| Ok(is_subquery(part))).unwrap_or(true)
}

fn has_constant_branches(case: &Case) -> bool {
    let branches = case.when_then_expr.iter().map(|(_, then)| then);
    let mut branches = branches.chain(&case.else_expr);
    branches.all(|branch| matches!(**branch, Expr::Literal(..)))
}

/// Resolves a column to its table and estimates its distinct values there.
fn distinct_of_column(column: &Column, plan: &LogicalPlan) -> Option<f64> {
    let place = plan.schema().maybe_index_of_column(column)?;
    let same_place = |input: &LogicalPlan| {
        let column = Column::from(input.schema().qualified_field(place));
        distinct_of_column(&column, input)
    };
    match plan {
        LogicalPlan::TableScan(scan) => {
            let field = scan.projected_schema.field(place);
            let place = scan.source.schema().index_of(field.name()).ok()?;
            distinct_of_statistics(statistics(scan)?.column_statistics.get(place)?)
        }
        LogicalPlan::Filter(filter) => distinct_of_column(column, &filter.input),
        LogicalPlan::Projection(projection) => {
            estimate_distinct(projection.expr.get(place)?, &projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => same_place(&alias.input),
        LogicalPlan::Union(union) => union.inputs.iter().map(|input| same_place(input)).sum(),
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            let is_left = join.left.schema().has_column(column);
            distinct_of_column(column, if is_left { &join.left } else { &join.right })
        }
        _ => None,
    }
}

fn statistics(scan: &TableScan) -> Option<Statistics> {
    source_as_provider(&scan.source).ok()?.statistics()
}

/// Number of distinct values: as counted, or else the number of integers between the bounds.
fn distinct_of_statistics(column: &ColumnStatistics) -> Option<f64> {
    let not_null =
        known_count(&column.distinct_count).or_else(|| integer_bounds(column).map(integer_span))?;
    let has_nulls = column.null_count.get_value() != Some(&0);
    Some(not_null + if has_nulls { 1.0 } else { 0.0 })
}

fn integer_bounds(column: &ColumnStatistics) -> Option<IntegerBounds> {
    let bound = |bound: &Precision<ScalarValue>| match bound.get_value()? {
        ScalarValue::Boolean(value) => value.map(i128::from),
        ScalarValue::Int8(value) => value.map(i128::from),
        ScalarValue::Int16(value) => value.map(i128::from),
        ScalarValue::Int32(value) => value.map(i128::from),
        ScalarValue::Int64(value) => value.map(i128::from),
        ScalarValue::UInt8(value) => value.map(i128::from),
        ScalarValue::UInt16(value) => value.map(i128::from),
        ScalarValue::UInt32(value) => value.map(i128::from),
        ScalarValue::UInt64(value) => value.map(i128::from),
        _ => None,
    };
    Some((bound(&column.min_value)?, bound(&column.max_value)?))
}

fn known_count(count: &Precision<usize>) -> Option<f64> {
    count.get_value().map(|count| count_as_f64(*count))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count_as_f64(count: usize) -> f64 {
    count as f64
}
