//! Which rows are asked for: conditions on a column that are ranges of its values need one pass over it.
//!
//! DataFusion compares with one value at a time, and copies fractions before each, to make -0 and 0 the same.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::{and, prep_null_mask_filter};
use arrow::datatypes::{ArrowPrimitiveType, Float64Type, Int16Type, Int32Type, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNotNullExpr, Literal};
use datafusion::physical_expr::utils::{conjunction, split_conjunction};

/// Most ranges of a condition: more values are found sooner in another way.
const MOST: usize = 4;

/// A filter.
pub(super) struct Chosen {
    columns: Vec<OfColumn>,
    /// The other conditions.
    others: Option<Arc<dyn PhysicalExpr>>,
}

impl Chosen {
    /// The rows that pass a filter over columns of `schema`.
    pub(super) fn of(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Self {
        let (mut columns, mut others): (Vec<OfColumn>, _) = (Vec::new(), Vec::new());
        for condition in split_conjunction(filter) {
            let found = OfColumn::of(condition, schema);
            let Some(found) = found.filter(|found| found.ranges.0.len() <= MOST) else {
                others.push(Arc::clone(condition));
                continue;
            };
            match columns.iter_mut().find(|one| one.place == found.place) {
                Some(one) => one.ranges = one.ranges.and(&found.ranges),
                None => columns.push(found),
            }
        }
        Self {
            columns,
            others: (!others.is_empty()).then(|| conjunction(others)),
        }
    }

    /// Which rows of a piece pass.
    pub(super) fn rows(&self, piece: &RecordBatch) -> Result<BooleanArray> {
        let mut chosen: Option<BooleanArray> = None;
        let mut narrow = |more: BooleanArray| -> Result<bool> {
            let both = match chosen.take() {
                Some(chosen) => and(&chosen, &more)?,
                None => more,
            };
            let is_any = both.true_count() > 0;
            chosen = Some(both);
            Ok(is_any)
        };
        let mut is_any = true;
        for column in &self.columns {
            is_any = is_any && narrow(column.rows(piece)?)?;
        }
        if let Some(others) = self.others.as_ref().filter(|_| is_any) {
            let rows = others.evaluate(piece)?.into_array(piece.num_rows())?;
            let rows = match rows.null_count() {
                0 => rows.as_boolean().clone(),
                _ => prep_null_mask_filter(rows.as_boolean()),
            };
            narrow(rows)?;
        }
        chosen.ok_or_else(|| internal_datafusion_err!("a filter has no condition"))
    }
}

/// What is asked for of a column; never what is NULL.
#[derive(Debug, PartialEq)]
struct OfColumn {
    place: usize,
    ranges: Ranges,
}

impl OfColumn {
    /// `None` for conditions that are more than comparisons of one column with values of its type.
    fn of(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        if let Some(is_there) = condition.downcast_ref::<IsNotNullExpr>() {
            let column = is_there.arg().downcast_ref::<Column>()?;
            // Its type has an order of ours.
            key(&ScalarValue::new_zero(schema.fields().get(column.index())?.data_type()).ok()?)?;
            return Some(Self {
                place: column.index(),
                ranges: Ranges::all(),
            });
        }
        let binary = condition.downcast_ref::<BinaryExpr>()?;
        let (left, right) = (binary.left(), binary.right());
        if matches!(binary.op(), Operator::And | Operator::Or) {
            let (one, other) = (Self::of(left, schema)?, Self::of(right, schema)?);
            let ranges = match binary.op() {
                Operator::And => one.ranges.and(&other.ranges),
                _ => one.ranges.or(other.ranges),
            };
            return (one.place == other.place).then_some(Self { ranges, ..one });
        }
        let (column, value, operator) = match left.downcast_ref::<Column>() {
            Some(column) => (column, right, *binary.op()),
            None => (right.downcast_ref::<Column>()?, left, binary.op().swap()?),
        };
        let value = value.downcast_ref::<Literal>()?.value();
        let is_same = schema.fields().get(column.index())?.data_type() == &value.data_type();
        Some(Self {
            place: column.index(),
            ranges: Ranges::of(operator, key(value).filter(|_| is_same)?)?,
        })
    }

    fn rows(&self, piece: &RecordBatch) -> Result<BooleanArray> {
        let values = piece.columns().get(self.place);
        let rows = values.and_then(|values| {
            self.of_type::<Float64Type>(values, key_of_fraction)
                .or_else(|| self.of_type::<Int64Type>(values, |value| value))
                .or_else(|| self.of_type::<Int32Type>(values, i64::from))
                .or_else(|| self.of_type::<Int16Type>(values, i64::from))
        });
        rows.ok_or_else(|| internal_datafusion_err!("a column is of another type"))
    }

    fn of_type<T: ArrowPrimitiveType>(
        &self,
        values: &ArrayRef,
        key: impl Fn(T::Native) -> i64,
    ) -> Option<BooleanArray> {
        let values = values.as_primitive_opt::<T>()?;
        let rows = self
            .ranges
            .places(values.values().iter().map(|value| key(*value)));
        let rows = match values.nulls() {
            Some(nulls) => &rows & nulls.inner(),
            None => rows,
        };
        Some(BooleanArray::new(rows, None))
    }
}

/// A value as a number in the order in which values of its type are compared.
fn key(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Float64(Some(number)) if !number.is_nan() => Some(key_of_fraction(*number)),
        ScalarValue::Int64(number) => *number,
        ScalarValue::Int32(number) => number.map(i64::from),
        ScalarValue::Int16(number) => number.map(i64::from),
        _ => None,
    }
}

/// In IEEE 754's total order, as Arrow compares, but that -0 is 0, as for DataFusion.
fn key_of_fraction(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Ranges of such numbers, least and greatest included: in order, and apart.
#[derive(Clone, Debug, PartialEq)]
struct Ranges(Vec<(i64, i64)>);

impl Ranges {
    fn all() -> Self {
        Self(vec![(i64::MIN, i64::MAX)])
    }

    /// What is so compared with a number.
    fn of(operator: Operator, number: i64) -> Option<Self> {
        let below = number.checked_sub(1).map(|last| (i64::MIN, last));
        let above = number.checked_add(1).map(|first| (first, i64::MAX));
        let ranges = match operator {
            Operator::Eq => vec![(number, number)],
            Operator::NotEq => below.into_iter().chain(above).collect(),
            Operator::Lt => below.into_iter().collect(),
            Operator::LtEq => vec![(i64::MIN, number)],
            Operator::Gt => above.into_iter().collect(),
            Operator::GtEq => vec![(number, i64::MAX)],
            _ => return None,
        };
        Some(Self(ranges))
    }

    /// What is in both.
    fn and(&self, other: &Self) -> Self {
        let pairs = self.0.iter();
        let pairs = pairs.flat_map(|one| other.0.iter().map(move |other| (one, other)));
        let both = pairs.map(|(one, other)| (one.0.max(other.0), one.1.min(other.1)));
        Self(both.filter(|(first, last)| first <= last).collect())
    }

    /// What is in one of them.
    fn or(self, other: Self) -> Self {
        let mut all = self.0;
        all.extend(other.0);
        all.sort_unstable();
        let mut apart: Vec<(i64, i64)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match apart.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => apart.push((first, last)),
            }
        }
        Self(apart)
    }

    /// Which of the numbers are in them.
    fn places(&self, numbers: impl ExactSizeIterator<Item = i64>) -> BooleanBuffer {
        let within = |range: &(i64, i64), number: i64| {
            let (from_first, length) =
                (number.wrapping_sub(range.0), range.1.wrapping_sub(range.0));
            from_first.cast_unsigned() <= length.cast_unsigned()
        };
        match self.0.as_slice() {
            [] => BooleanBuffer::new_unset(numbers.len()),
            [one] => packed(numbers, |number| within(one, number)),
            [one, other] => packed(numbers, |number| {
                within(one, number) | within(other, number)
            }),
            more => packed(numbers, |number| {
                more.iter().any(|range| within(range, number))
            }),
        }
    }
}

/// A bit for each number.
fn packed(
    mut numbers: impl ExactSizeIterator<Item = i64>,
    is_chosen: impl Fn(i64) -> bool,
) -> BooleanBuffer {
    let length = numbers.len();
    let words = (0..length.div_ceil(64)).map(|_| {
        let numbers = numbers.by_ref().take(64).enumerate();
        numbers.fold(0_u64, |word, (place, number)| {
            word | (u64::from(is_chosen(number)) << place)
        })
    });
    let words: Vec<u64> = words.collect();
    BooleanBuffer::new(Buffer::from_vec(words), 0, length)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int16Array, Int64Array};
    use datafusion::physical_plan::filter::FilterExec;
    use datafusion::prelude::SessionContext;

    use super::*;

    fn piece() -> RecordBatch {
        let (nan, minus_nan) = (f64::NAN, -f64::NAN);
        let fractions = [
            Some(0.0),
            Some(-0.0),
            None,
            Some(1.5),
            Some(-1.5),
            Some(nan),
            Some(minus_nan),
            Some(f64::INFINITY),
            Some(f64::NEG_INFINITY),
            Some(5e-324),
            Some(1e300),
            Some(2.0),
        ];
        let fractions = fractions.iter().cycle().take(333).copied();
        let whole = (0..333).map(|row| (row % 7 != 0).then_some(row % 10 - 5));
        let small = (0..333_i16).map(|row| (row % 5 != 0).then_some(row % 4));
        let columns: [(&str, ArrayRef); 3] = [
            ("x", Arc::new(fractions.collect::<Float64Array>())),
            ("n", Arc::new(whole.collect::<Int64Array>())),
            ("e", Arc::new(small.collect::<Int16Array>())),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true)))
            .unwrap()
    }

    /// A filter as the engine has it.
    async fn filter(sql: &str, piece: &RecordBatch) -> Arc<dyn PhysicalExpr> {
        let context = SessionContext::new();
        context.register_batch("t", piece.clone()).unwrap();
        let sql = format!("SELECT * FROM t WHERE {sql}");
        let plan = context.sql(&sql).await.unwrap();
        let plan = plan.create_physical_plan().await.unwrap();
        let filter = plan.downcast_ref::<FilterExec>().unwrap();
        Arc::clone(filter.predicate())
    }

    #[tokio::test]
    async fn rows_in_ranges_are_those_that_pass() {
        let piece = piece();
        for (sql, is_in_ranges) in [
            ("x > 0.0", true),
            ("x >= 0.0 AND x < 2.0", true),
            ("x <= -0.0", true),
            ("x = 0.0", true),
            ("x <> 0.0", true),
            ("1.5 < x OR x = -1.5", true),
            ("x BETWEEN -1.5 AND 0.0 OR x BETWEEN 1.5 AND 1e300", true),
            ("x > 1.0 AND n < 3", true),
            ("n = 3 OR n = 1 OR n <> 2", true),
            ("n < -9223372036854775807 OR n > 4", true),
            ("n > 9223372036854775807", true),
            ("n IS NOT NULL AND e = 0", true),
            ("e <> 0 AND x > 1.0 AND x < 1.0", true),
            ("n > 1 AND n < 4 AND n <> 2 AND n <> 3", true),
            ("n = -5 OR n = -3 OR n = -1 OR n = 1 OR n = 3", false),
            ("n > 1 AND x * 2.0 > 3.0", false),
            ("n > 1 OR e > 2", false),
            ("x < 'NaN'::DOUBLE", false),
            ("n IS NULL", false),
            ("NOT (n > 1)", true),
            ("e = 1 AND random() < 2", false),
        ] {
            let filter = filter(sql, &piece).await;
            let chosen = Chosen::of(&filter, piece.schema_ref());
            assert_eq!(chosen.others.is_none(), is_in_ranges, "{sql}: {filter}");
            let theirs = filter
                .evaluate(&piece)
                .unwrap()
                .into_array(piece.num_rows())
                .unwrap();
            let theirs = theirs.as_boolean().iter();
            let theirs: Vec<bool> = theirs.map(|row| row == Some(true)).collect();
            let ours: Vec<bool> = chosen.rows(&piece).unwrap().values().iter().collect();
            assert_eq!(ours, theirs, "{sql}");
        }
    }
}
