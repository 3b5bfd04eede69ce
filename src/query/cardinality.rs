//! Estimates of how many rows and how many groups a plan has.

use std::any::Any;

use arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNode as _;
use datafusion::common::{Column, ColumnStatistics, JoinType, ScalarValue, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Case, Expr, ExprSchemable as _, LogicalPlan, TableScan};

use crate::store::StoredTable;

/// Part of the rows that a filter leaves if nothing is known of it, as DataFusion estimates it.
const FILTERED: f64 = 0.2;

/// Bits of an entry of a hash table of numbers, at least.
const BITS_OF_ENTRY: f64 = 64.0;

/// Rows of an average group from which on it pays to aggregate twice.
const ROWS_OF_GROUP: f64 = 8.0;

/// Whether the rows of a plan are known to have few groups by these expressions.
pub(super) fn has_few_groups<'a>(
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
) -> bool {
    is_few(groups_by(groups, plan), plan)
}

/// Whether the rows of a plan are known to have few groups by the keys of a join with `other_side`, each with its partner there, and by
/// further expressions. Where both columns of a key have about the same bounds, as a foreign key and what it refers to, there are about
/// as many keys as rows of the other side.
pub(super) fn has_few_groups_with_keys<'a>(
    keys: &[(Expr, Expr)],
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
    other_side: &LogicalPlan,
) -> bool {
    let keys = keys.iter().map(|(key, partner)| {
        let rows = rows(other_side).filter(|rows| *rows > 0.0);
        let rows =
            rows.filter(|_| have_same_bounds(bounds(key, plan), bounds(partner, other_side)));
        minimum(values(key, plan), rows)
    });
    let keys = keys.product::<Option<f64>>();
    let groups = groups_by(groups, plan);
    is_few(keys.zip(groups).map(|(keys, groups)| keys * groups), plan)
}

/// Whether the rows of a plan are known to have many groups by these expressions: nearly as many as rows.
pub(super) fn has_many_groups<'a>(
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
) -> bool {
    let (groups, rows) = (groups_by(groups, plan), rows(plan));
    matches!((groups, rows), (Some(groups), Some(rows)) if groups * ROWS_OF_GROUP > rows)
}

fn groups_by<'a>(groups: impl IntoIterator<Item = &'a Expr>, plan: &LogicalPlan) -> Option<f64> {
    let groups = groups.into_iter();
    groups.map(|group| values(group, plan)).product()
}

fn is_few(groups: Option<f64>, plan: &LogicalPlan) -> bool {
    let rows = rows(plan);
    matches!((groups, rows), (Some(groups), Some(rows)) if groups * ROWS_OF_GROUP <= rows)
}

fn minimum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Estimates the number of rows; `None` where nothing is known.
pub(super) fn rows(plan: &LogicalPlan) -> Option<f64> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let rows = estimate(&statistics(scan)?.num_rows)?;
            let part = if scan.filters.is_empty() {
                1.0
            } else {
                FILTERED
            };
            Some(scan.fetch.map_or(rows, |fetch| as_count(fetch).min(rows)) * part)
        }
        LogicalPlan::Filter(filter) => {
            let rows = rows(&filter.input)?;
            // The same conditions may stand in the scan, too.
            Some(
                rows * if is_filtered(&filter.input) {
                    1.0
                } else {
                    FILTERED
                },
            )
        }
        LogicalPlan::Projection(projection) => rows(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => rows(&alias.input),
        LogicalPlan::Union(union) => union.inputs.iter().map(|input| rows(input)).sum(),
        // Each row of the larger side has one partner.
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            Some(rows(&join.left)?.max(rows(&join.right)?))
        }
        _ => None,
    }
}

/// Whether a column of integers has values so close to each other that a bit for each integer between its bounds takes less memory
/// than a hash table of the values.
pub(super) fn is_dense(column: &Column, plan: &LogicalPlan) -> bool {
    let (bounds, rows) = (bounds_of_column(column, plan), rows(plan));
    matches!((bounds, rows), (Some(bounds), Some(rows)) if span(bounds) <= rows * BITS_OF_ENTRY)
}

/// Whether rows are stored in the order of this column, so that equal values lie together.
pub(super) fn leads_sort_order(expr: &Expr, plan: &LogicalPlan) -> bool {
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

fn bounds(expr: &Expr, plan: &LogicalPlan) -> Option<IntegerBounds> {
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

/// The number of integers between two bounds.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn span((min, max): IntegerBounds) -> f64 {
    (max - min) as f64 + 1.0
}

/// Whether bounds differ by less than a tenth of their span.
fn have_same_bounds(one: Option<IntegerBounds>, other: Option<IntegerBounds>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let most = span(one).max(span(other)) / 10.0;
    [(one.0, other.0), (one.1, other.1)]
        .into_iter()
        .all(|(one, other)| span((one.min(other), one.max(other))) <= most.max(1.0))
}

/// The scan and the name of the stored column that a column is, under whatever name.
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

/// Whether a plan is a scan with conditions, under whatever name.
fn is_filtered(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => !scan.filters.is_empty(),
        LogicalPlan::SubqueryAlias(alias) => is_filtered(&alias.input),
        _ => false,
    }
}

/// Estimates how many distinct values an expression has at most, of which NULL is one; `None` where nothing is known.
fn values(expr: &Expr, plan: &LogicalPlan) -> Option<f64> {
    let of_type = match expr.get_type(plan.schema()) {
        Ok(DataType::Boolean) => Some(3.0),
        Ok(DataType::Null) => Some(1.0),
        _ => None,
    };
    let of_expr = match expr {
        Expr::Alias(alias) => values(&alias.expr, plan),
        Expr::Literal(..) => Some(1.0),
        Expr::Column(column) => values_of_column(column, plan),
        Expr::Case(case) if has_constant_branches(case) => {
            Some(as_count(case.when_then_expr.len() + 1))
        }
        _ if expr.is_volatile() || expr.contains_outer() || has_subquery(expr) => None,
        // A function of columns has no more values than there are combinations of theirs.
        _ => {
            let columns = expr.column_refs().into_iter();
            columns
                .map(|column| values_of_column(column, plan))
                .product()
        }
    };
    minimum(of_type, of_expr)
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

/// Follows a column to the table that it is from.
fn values_of_column(column: &Column, plan: &LogicalPlan) -> Option<f64> {
    let place = plan.schema().maybe_index_of_column(column)?;
    let same_place = |input: &LogicalPlan| {
        let column = Column::from(input.schema().qualified_field(place));
        values_of_column(&column, input)
    };
    match plan {
        LogicalPlan::TableScan(scan) => {
            let field = scan.projected_schema.field(place);
            let place = scan.source.schema().index_of(field.name()).ok()?;
            values_of_statistics(statistics(scan)?.column_statistics.get(place)?)
        }
        LogicalPlan::Filter(filter) => values_of_column(column, &filter.input),
        LogicalPlan::Projection(projection) => {
            values(projection.expr.get(place)?, &projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => same_place(&alias.input),
        LogicalPlan::Union(union) => union.inputs.iter().map(|input| same_place(input)).sum(),
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            let is_left = join.left.schema().has_column(column);
            values_of_column(column, if is_left { &join.left } else { &join.right })
        }
        _ => None,
    }
}

fn statistics(scan: &TableScan) -> Option<Statistics> {
    source_as_provider(&scan.source).ok()?.statistics()
}

/// Distinct values: as counted, or as many as there are integers between the bounds.
fn values_of_statistics(column: &ColumnStatistics) -> Option<f64> {
    let not_null = estimate(&column.distinct_count).or_else(|| integer_bounds(column).map(span))?;
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

fn estimate(count: &Precision<usize>) -> Option<f64> {
    count.get_value().map(|count| as_count(*count))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn as_count(count: usize) -> f64 {
    count as f64
}
