//! Estimates of the rows that filters leave, from minima and maxima of a table.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::{ScalarValue, Statistics};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// Returns the estimated fraction of rows that pass comparisons of a column with literals. Assumes values uniformly
/// distributed between minimum and maximum. For several columns, the fraction of the most selective one; 1 if nothing
/// is known. Columns for which `skip` is true are ignored.
pub(crate) fn selectivity(
    filters: &[Expr],
    schema: &Schema,
    statistics: &Statistics,
    skip: impl Fn(&str) -> bool,
) -> f64 {
    let mut ranges: HashMap<&str, ValueRange> = HashMap::new();
    for filter in filters {
        let Some((name, operator, value)) = comparison(filter) else {
            continue;
        };
        if skip(name) {
            continue;
        }
        let Some(range) = ValueRange::for_column(name, schema, statistics) else {
            continue;
        };
        ranges.entry(name).or_insert(range).narrow(operator, value);
    }
    ranges
        .values()
        .map(ValueRange::selectivity)
        .fold(1.0, f64::min)
}

/// Parses `column < literal` and similar comparisons, with the column on the left.
fn comparison(filter: &Expr) -> Option<(&str, Operator, f64)> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else {
        return None;
    };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(column), Expr::Literal(value, _)) => {
            Some((&column.name, *op, number(value)?))
        }
        (Expr::Literal(value, _), Expr::Column(column)) => {
            Some((&column.name, op.swap()?, number(value)?))
        }
        _ => None,
    }
}

fn number(value: &ScalarValue) -> Option<f64> {
    match value.cast_to(&DataType::Float64).ok()? {
        ScalarValue::Float64(number) => number,
        _ => None,
    }
}

/// Range of a column's values, before and after filtering.
struct ValueRange {
    all: (f64, f64),
    left: (f64, f64),
}

impl ValueRange {
    fn for_column(name: &str, schema: &Schema, statistics: &Statistics) -> Option<Self> {
        let column = statistics
            .column_statistics
            .get(schema.index_of(name).ok()?)?;
        let least = number(column.min_value.get_value()?)?;
        let greatest = number(column.max_value.get_value()?)?;
        Some(Self {
            all: (least, greatest),
            left: (least, greatest),
        })
    }

    fn narrow(&mut self, operator: Operator, value: f64) {
        match operator {
            Operator::Lt | Operator::LtEq => self.left.1 = self.left.1.min(value),
            Operator::Gt | Operator::GtEq => self.left.0 = self.left.0.max(value),
            _ => {}
        }
    }

    fn selectivity(&self) -> f64 {
        let (all, left) = (self.all.1 - self.all.0, self.left.1 - self.left.0);
        if all > 0.0 {
            (left / all).clamp(0.0, 1.0)
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;
    use datafusion::common::ColumnStatistics;
    use datafusion::common::stats::Precision;
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn ranges_of_a_column_are_merged() {
        let schema = Schema::new(vec![Field::new("t", DataType::Int64, true)]);
        let exact = |value| Precision::Exact(ScalarValue::Int64(Some(value)));
        let column = ColumnStatistics {
            min_value: exact(0),
            max_value: exact(1000),
            ..ColumnStatistics::new_unknown()
        };
        let mut statistics = Statistics::new_unknown(&schema);
        statistics.column_statistics = vec![column];
        let share = |filters: &[Expr]| selectivity(filters, &schema, &statistics, |_| false);
        let is = |share: f64, wanted: f64| (share - wanted).abs() < 1e-9;
        assert!(is(share(&[col("t").gt(lit(900_i64))]), 0.1));
        assert!(is(share(&[lit(900_i64).gt(col("t"))]), 0.9));
        let both = [col("t").gt_eq(lit(400_i64)), col("t").lt(lit(450_i64))];
        assert!(is(share(&both), 0.05));
        assert!(is(share(&[col("t").eq(lit(1_i64))]), 1.0));
        assert!(is(share(&[col("u").lt(lit(1_i64))]), 1.0));
    }
}
