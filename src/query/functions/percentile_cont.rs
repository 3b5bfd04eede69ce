//! `percentile_cont(0.95) WITHIN GROUP (ORDER BY x)`: the value at a share of the sorted values,
//! between two of them in proportion. `quantile_cont(x, 0.95)` is the same.
//!
//! As DataFusion's, which rounds the proportion to millionths, in full precision:
//! of sorted x[0..n] at p, with i = floor(p (n - 1)) and f = p (n - 1) - i, it is (1 - f) x[i] + f x[i + 1].
//! NULLs do not count; NULL where there are no values.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::functions_aggregate::percentile_cont::PercentileCont;
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};
use datafusion::physical_expr::expressions::Literal;

pub(super) fn udaf() -> AggregateUDF {
    AggregateUDF::from(Exact(PercentileCont::new()))
}

/// DataFusion's function with an accumulator of ours.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact(PercentileCont);

impl AggregateUDFImpl for Exact {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = DataType::new_list(DataType::Float64, true);
        let name = format!("{}[values]", args.name);
        Ok(vec![Arc::new(Field::new(name, values, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let share = args
            .exprs
            .get(1)
            .and_then(|share| share.downcast_ref::<Literal>());
        let share = share.and_then(|share| share.value().cast_to(&DataType::Float64).ok());
        let Some(ScalarValue::Float64(Some(share))) = share else {
            return plan_err!("percentile_cont takes a number from 0 to 1 that is written out");
        };
        if !(0.0..=1.0).contains(&share) {
            return plan_err!("percentile_cont takes a number from 0 to 1, not {share}");
        }
        let descending = args
            .order_bys
            .first()
            .is_some_and(|key| key.options.descending);
        Ok(Box::new(Values {
            share: if descending { 1.0 - share } else { share },
            distinct: args.is_distinct,
            gives: args.return_field.data_type().clone(),
            values: Vec::new(),
        }))
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.0.simplify()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.0.supports_within_group_clause()
    }
}

/// All values of a group.
#[derive(Debug)]
struct Values {
    share: f64,
    distinct: bool,
    gives: DataType,
    values: Vec<f64>,
}

impl Values {
    fn take(&mut self, array: &ArrayRef) -> Result<()> {
        let numbers = cast(array, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        if numbers.null_count() == 0 {
            self.values.extend_from_slice(numbers.values());
        } else {
            self.values.extend(numbers.iter().flatten());
        }
        Ok(())
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.first().map_or(Ok(()), |values| self.take(values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = at_share(&mut self.values, self.share, self.distinct);
        ScalarValue::Float64(found).cast_to(&self.gives)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = Float64Array::from(std::mem::take(&mut self.values));
        let list = SingleRowListArrayBuilder::new(Arc::new(values)).build_list_scalar();
        Ok(vec![list])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first() else {
            return Ok(());
        };
        for values in lists.as_list::<i32>().iter().flatten() {
            self.take(&values)?;
        }
        Ok(())
    }
}

/// The value at `share` of the sorted values.
fn at_share(values: &mut Vec<f64>, share: f64, distinct: bool) -> Option<f64> {
    if distinct {
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
    }
    let last = values.len().checked_sub(1)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among values that are in memory"
    )]
    let (place, below) = {
        let place = share * last as f64;
        (place, place.floor() as usize)
    };
    if below > last {
        return None;
    }
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    let part = place.fract();
    if part == 0.0 || low == high {
        return Some(low);
    }
    Some((1.0 - part) * low + part * high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_values_in_proportion() {
        let of = |values: &[f64], share: f64| at_share(&mut values.to_vec(), share, false);
        assert_eq!(of(&[0.0, 1e9], 0.123_456_78), Some(123_456_780.0));
        assert_eq!(of(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0], 0.5), Some(2.5));
        assert_eq!(of(&[1.0, 2.0], 1.0), Some(2.0));
        assert_eq!(of(&[1.0, 2.0], 0.0), Some(1.0));
        assert_eq!(of(&[7.0], 0.3), Some(7.0));
        assert_eq!(of(&[], 0.3), None);
        let distinct = at_share(&mut vec![1.0, 1.0, 1.0, 5.0], 0.5, true);
        assert_eq!(distinct, Some(3.0));
    }
}
