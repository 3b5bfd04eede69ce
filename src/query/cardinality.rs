//! Estimates of how many rows and how many groups a plan has.

use arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::{Column, ColumnStatistics, JoinType, ScalarValue, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Case, Expr, ExprSchemable as _, LogicalPlan, TableScan};

/// Share of the rows that a filter leaves if nothing is known of it, as DataFusion estimates it.
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

/// Whether the rows of a plan are known to have few groups by the keys of a join with `other_side` and by further expressions. There
/// are no more keys than rows of the other side: most of the others find no partner.
pub(super) fn has_few_groups_with_keys<'a>(
    keys: impl IntoIterator<Item = &'a Expr>,
    groups: impl IntoIterator<Item = &'a Expr>,
    plan: &LogicalPlan,
    other_side: &LogicalPlan,
) -> bool {
    let keys = least(groups_by(keys, plan), rows(other_side));
    let groups = groups_by(groups, plan);
    is_few(keys.zip(groups).map(|(keys, groups)| keys * groups), plan)
}

fn groups_by<'a>(groups: impl IntoIterator<Item = &'a Expr>, plan: &LogicalPlan) -> Option<f64> {
    let groups = groups.into_iter();
    groups.map(|group| values(group, plan)).product()
}

fn is_few(groups: Option<f64>, plan: &LogicalPlan) -> bool {
    let rows = rows(plan);
    matches!((groups, rows), (Some(groups), Some(rows)) if groups * ROWS_OF_GROUP <= rows)
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Estimates the number of rows; `None` where nothing is known.
pub(super) fn rows(plan: &LogicalPlan) -> Option<f64> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let rows = known(&statistics(scan)?.num_rows)?;
            let share = if scan.filters.is_empty() {
                1.0
            } else {
                FILTERED
            };
            Some(scan.fetch.map_or(rows, |fetch| as_count(fetch).min(rows)) * share)
        }
        LogicalPlan::Filter(filter) => {
            let rows = rows(&filter.input)?;
            // The same conditions may stand in the scan, too.
            let is_counted = matches!(filter.input.as_ref(), LogicalPlan::TableScan(scan) if !scan.filters.is_empty());
            Some(rows * if is_counted { 1.0 } else { FILTERED })
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

/// Whether a column of whole numbers has values so close to each other that a bit for each number between the least and the
/// greatest takes less memory than a hash table of the values.
pub(super) fn is_dense(column: &Column, plan: &LogicalPlan) -> bool {
    let (span, rows) = (values_of_column(column, plan), rows(plan));
    matches!((span, rows), (Some(span), Some(rows)) if span <= rows * BITS_OF_ENTRY)
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
        _ if expr.is_volatile() || expr.contains_outer() => None,
        // A function of columns has no more values than there are combinations of theirs.
        _ => {
            let columns = expr.column_refs().into_iter();
            columns
                .map(|column| values_of_column(column, plan))
                .product()
        }
    };
    least(of_type, of_expr)
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

/// Distinct values: as counted, or as many as there are whole numbers between the least and the greatest.
fn values_of_statistics(column: &ColumnStatistics) -> Option<f64> {
    let not_null = known(&column.distinct_count).or_else(|| {
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
        let span = bound(&column.max_value)? - bound(&column.min_value)? + 1;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let span = span as f64;
        Some(span)
    })?;
    let has_nulls = column.null_count.get_value() != Some(&0);
    Some(not_null + if has_nulls { 1.0 } else { 0.0 })
}

fn known(count: &Precision<usize>) -> Option<f64> {
    count.get_value().map(|count| as_count(*count))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn as_count(count: usize) -> f64 {
    count as f64
}
