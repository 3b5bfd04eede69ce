//! Sums of integers that do not wrap around.
//!
//! DataFusion 55 returns -2 for twice 9223372036854775807. Here a sum that exceeds BIGINT is an error.

use std::mem::size_of_val;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, Int64Array};
use arrow::compute::sum;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;
use delegate::delegate;

/// Returns the accumulator of `sum` for integers; `None` for other types.
///
/// # Errors
/// Failures of DataFusion's accumulator of distinct values.
pub(super) fn accumulator(
    args: &AccumulatorArgs,
    distinct: impl FnOnce() -> Result<Box<dyn Accumulator>>,
) -> Result<Option<Box<dyn Accumulator>>> {
    if *args.return_field.data_type() != DataType::Int64 {
        return Ok(None);
    }
    Ok(Some(match args.is_distinct {
        true => Box::new(DistinctSum(distinct()?)),
        false => Box::<IntegerSum>::default(),
    }))
}

/// Returns the accumulator of `sum` for groups of integers; `None` for other types.
pub(super) fn groups_accumulator(args: &AccumulatorArgs) -> Option<Box<dyn GroupsAccumulator>> {
    if *args.return_field.data_type() != DataType::Int64 {
        return None;
    }
    let is_exceeded = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_exceeded);
    let add = move |total: &mut i64, value: i64| {
        let (sum, wraps) = total.overflowing_add(value);
        *total = sum;
        if wraps {
            flag.store(true, Ordering::Relaxed);
        }
    };
    let sums = PrimitiveGroupsAccumulator::<Int64Type, _>::new(&DataType::Int64, add);
    Some(Box::new(GroupSums {
        sums: Box::new(sums),
        is_exceeded,
    }))
}

/// Returns whether sums of any of these values fit into 64 bits.
#[must_use]
pub fn sums_fit(values: &Int64Array) -> bool {
    let bits = values.values().iter();
    let bits = bits.fold(0, |bits, value| bits | (value ^ (value >> 63)));
    let rows = u64::try_from(values.len()).unwrap_or(u64::MAX);
    // Each value is below 2^(64 - a) and their number below 2^(64 - b), so a sum is below 2^(128 - a - b).
    bits.leading_zeros() + rows.leading_zeros() > 64
}

/// Returns a total as a value of SQL.
///
/// # Errors
/// It exceeds BIGINT.
pub fn checked_total(total: i128) -> Result<i64> {
    i64::try_from(total).map_err(|_| out_of_range())
}

fn out_of_range() -> DataFusionError {
    exec_datafusion_err!(
        "a sum of integers is out of range, expected -9223372036854775808 to 9223372036854775807\n\
         hint: sum(CAST(x AS DOUBLE)), or exactly sum(CAST(x AS DECIMAL(38, 0)))"
    )
}

/// Sum of integers, also over sliding frames.
#[derive(Debug, Default)]
struct IntegerSum {
    total: i128,
    count: usize,
}

impl IntegerSum {
    fn add(&mut self, values: &[ArrayRef], sign: i128) -> Result<usize> {
        let [values] = values else {
            return internal_err!("sum has {} arguments", values.len());
        };
        let values = values.as_primitive::<Int64Type>();
        let part = match sums_fit(values) {
            true => sum(values).map_or(0, i128::from),
            false => values.iter().flatten().map(i128::from).sum(),
        };
        self.total += sign * part;
        Ok(values.len() - values.null_count())
    }
}

impl Accumulator for IntegerSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count += self.add(values, 1)?;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count -= self.add(values, -1)?;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let total = (self.count > 0).then(|| checked_total(self.total));
        Ok(ScalarValue::Int64(total.transpose()?))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// Sum of distinct integers: DataFusion's, which collects them.
#[derive(Debug)]
struct DistinctSum(Box<dyn Accumulator>);

impl Accumulator for DistinctSum {
    delegate! {
        to self.0 {
            fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()>;
            fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()>;
            fn state(&mut self) -> Result<Vec<ScalarValue>>;
            fn size(&self) -> usize;
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sum = IntegerSum::default();
        for state in self.0.state()? {
            if let ScalarValue::List(values) = state {
                sum.update_batch(&[Arc::clone(values.values())])?;
            }
        }
        sum.evaluate()
    }
}

/// Sums of groups.
struct GroupSums {
    sums: Box<dyn GroupsAccumulator>,
    /// Whether a sum was out of range.
    is_exceeded: Arc<AtomicBool>,
}

impl GroupSums {
    fn check(&self) -> Result<()> {
        match self.is_exceeded.load(Ordering::Relaxed) {
            true => Err(out_of_range()),
            false => Ok(()),
        }
    }
}

impl GroupsAccumulator for GroupSums {
    delegate! {
        to self.sums {
            fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef>;
            fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>>;
            fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>>;
            fn size(&self) -> usize;
        }
    }

    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        (self.sums).update_batch(values, groups, filter, group_count)?;
        self.check()
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        group_count: usize,
    ) -> Result<()> {
        (self.sums).merge_batch(states, groups, group_count)?;
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_added_without_carry() {
        let array = |values: Vec<i64>| Int64Array::from(values);
        assert!(sums_fit(&array(vec![])));
        assert!(sums_fit(&array(vec![i64::MAX / 2])));
        assert!(!sums_fit(&array(vec![i64::MAX, 1])));
        assert!(!sums_fit(&array(vec![i64::MIN, -1])));
        assert!(sums_fit(&array(vec![i64::MAX / 4, i64::MIN / 4, 3])));
        for values in [
            vec![i64::MAX / 2; 2],
            vec![i64::MIN / 2; 2],
            vec![1 << 61; 3],
        ] {
            let exact: i128 = values.iter().copied().map(i128::from).sum();
            if sums_fit(&array(values)) {
                assert!(i64::try_from(exact).is_ok());
            }
        }
    }

    #[test]
    fn values_that_leave_a_frame_are_exact() {
        let array = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let mut frame = IntegerSum::default();
        assert_eq!(frame.evaluate().unwrap(), ScalarValue::Int64(None));
        frame
            .update_batch(&[array(vec![Some(i64::MAX), None, Some(5)])])
            .unwrap();
        let error = frame.evaluate().unwrap_err().to_string();
        assert!(error.contains("out of range"), "{error}");
        frame
            .retract_batch(&[array(vec![Some(i64::MAX), None])])
            .unwrap();
        assert_eq!(frame.evaluate().unwrap(), ScalarValue::Int64(Some(5)));
        frame.retract_batch(&[array(vec![Some(5)])]).unwrap();
        assert_eq!(frame.evaluate().unwrap(), ScalarValue::Int64(None));
    }
}
