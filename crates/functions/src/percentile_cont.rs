//! `percentile_cont(0.95) WITHIN GROUP (ORDER BY x)`: the value at a fraction of the sorted values, with linear
//! interpolation. `quantile_cont(x, 0.95)` is the same.
//!
//! DataFusion rounds the interpolation weight to millionths; this implementation has full precision. For sorted x[0..n]
//! and fraction p, with i = floor(p (n - 1)) and f = p (n - 1) - i, the result is (1 - f) x[i] + f x[i + 1]. NULLs are
//! ignored, and the result is NULL without values. `median(x)` of floats has p = 0.5.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, Float64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::functions_aggregate::percentile_cont::PercentileCont;
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    Signature,
};
use datafusion::physical_expr::expressions::Literal;
use delegate::delegate;

use super::function_docs::FunctionDocs;
use super::value_buffer::ValueBuffer;

pub(super) fn udaf() -> AggregateUDF {
    let about = FunctionDocs::new(
        "percentile_cont",
        "Percentile of the values, with linear interpolation between two of them",
        "SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY runtime_ns) FROM records",
    )
    .argument("share", DataType::Float64, "literal number from 0 to 1")
    .source("SQL:2003; NumPy's default quantile");
    AggregateUDF::from(Exact {
        theirs: PercentileCont::new(),
        documentation: about.documentation(),
    })
}

/// DataFusion's function with another accumulator, and with tsql's documentation.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    theirs: PercentileCont,
    documentation: Documentation,
}

impl AggregateUDFImpl for Exact {
    delegate! {
        to self.theirs {
            fn name(&self) -> &str;
            fn aliases(&self) -> &[String];
            fn signature(&self) -> &Signature;
            fn return_type(&self, types: &[DataType]) -> Result<DataType>;
            fn simplify(&self) -> Option<AggregateFunctionSimplification>;
            fn supports_within_group_clause(&self) -> bool;
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = DataType::new_list(DataType::Float64, true);
        let name = format!("{}[values]", args.name);
        Ok(vec![Arc::new(Field::new(name, values, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(PercentileAccumulator {
            wanted: Percentile::from_args(&args)?,
            values: ValueBuffer::default(),
        }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(PercentileGroups {
            wanted: Percentile::from_args(&args)?,
            groups: Vec::new(),
        }))
    }
}

/// The requested percentile.
#[derive(Debug)]
struct Percentile {
    share: f64,
    distinct: bool,
    gives: DataType,
}

impl Percentile {
    fn from_args(args: &AccumulatorArgs) -> Result<Self> {
        let share = args
            .exprs
            .get(1)
            .and_then(|share| share.downcast_ref::<Literal>());
        let share = share.and_then(|share| share.value().cast_to(&DataType::Float64).ok());
        let Some(ScalarValue::Float64(Some(share))) = share else {
            return plan_err!("percentile_cont expects a literal number from 0 to 1");
        };
        if !(0.0..=1.0).contains(&share) {
            return plan_err!("percentile_cont expects a number from 0 to 1, not {share}");
        }
        let descending = args
            .order_bys
            .first()
            .is_some_and(|key| key.options.descending);
        Ok(Self {
            share: if descending { 1.0 - share } else { share },
            distinct: args.is_distinct,
            gives: args.return_field.data_type().clone(),
        })
    }

    fn evaluate(&self, values: &mut ValueBuffer) -> Option<f64> {
        if self.distinct {
            let mut all = std::mem::take(values).into_vec();
            all.sort_unstable_by(f64::total_cmp);
            all.dedup();
            return percentile(ValueBuffer::from(all), self.share);
        }
        percentile(std::mem::take(values), self.share)
    }
}

fn to_float64(array: &ArrayRef) -> Result<Float64Array> {
    let numbers = cast(array, &DataType::Float64)?;
    Ok(numbers.as_primitive::<Float64Type>().clone())
}

/// Values of each group as a list.
fn list_states(groups: Vec<ValueBuffer>) -> Result<Vec<ArrayRef>> {
    let lengths: Vec<usize> = groups.iter().map(ValueBuffer::len).collect();
    if i32::try_from(lengths.iter().sum::<usize>()).is_err() {
        return exec_err!(
            "percentile_cont: too many values at once, expected at most 2,147,483,647"
        );
    }
    let flat = groups
        .into_iter()
        .reduce(ValueBuffer::append)
        .unwrap_or_default();
    let flat = Arc::new(Float64Array::from(flat.into_vec()));
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let list = ListArray::new(item, OffsetBuffer::from_lengths(lengths), flat, None);
    Ok(vec![Arc::new(list)])
}

/// Accumulator with all values of a group.
#[derive(Debug)]
struct PercentileAccumulator {
    wanted: Percentile,
    values: ValueBuffer,
}

impl Accumulator for PercentileAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values.first() {
            Some(array) => self.values.push_array(array),
            None => Ok(()),
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        // A window evaluates again after more rows. Large chunks are shared with the copy.
        let found = self.wanted.evaluate(&mut self.values.clone());
        ScalarValue::Float64(found).cast_to(&self.wanted.gives)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = Float64Array::from(std::mem::take(&mut self.values).into_vec());
        let list = SingleRowListArrayBuilder::new(Arc::new(values)).build_list_scalar();
        Ok(vec![list])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first() else {
            return Ok(());
        };
        for list in lists.as_list::<i32>().iter().flatten() {
            self.values.push_array(&list)?;
        }
        Ok(())
    }
}

/// Accumulator with all values of many groups.
#[derive(Debug)]
struct PercentileGroups {
    wanted: Percentile,
    groups: Vec<ValueBuffer>,
}

impl GroupsAccumulator for PercentileGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.groups.resize_with(group_count, ValueBuffer::default);
        let Some(array) = values.first() else {
            return Ok(());
        };
        if let Some(first) = group_indices.first()
            && filter.is_none()
            && group_indices.iter().all(|group| group == first)
            && let Some(values) = self.groups.get_mut(*first)
        {
            return values.push_array(array);
        }
        let counts = |row| filter.is_none_or(|kept| kept.is_valid(row) && kept.value(row));
        let numbers = to_float64(array)?;
        for (row, (&group, value)) in group_indices.iter().zip(&numbers).enumerate() {
            if let (Some(value), Some(values)) = (value, self.groups.get_mut(group))
                && counts(row)
            {
                values.push(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut groups = emit_to.take_needed(&mut self.groups);
        let found = groups.iter_mut().map(|values| self.wanted.evaluate(values));
        let found: Float64Array = found.collect();
        Ok(cast(&found, &self.wanted.gives)?)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        list_states(emit_to.take_needed(&mut self.groups))
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        group_count: usize,
    ) -> Result<()> {
        self.groups.resize_with(group_count, ValueBuffer::default);
        let Some(lists) = states.first() else {
            return Ok(());
        };
        for (&group, list) in group_indices.iter().zip(lists.as_list::<i32>().iter()) {
            if let (Some(list), Some(values)) = (list, self.groups.get_mut(group)) {
                values.push_array(&list)?;
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let Some(array) = values.first() else {
            return list_states(Vec::new());
        };
        let counts = |row| filter.is_none_or(|kept| kept.is_valid(row) && kept.value(row));
        let numbers = to_float64(array)?;
        let rows = numbers.iter().enumerate();
        let rows = rows.map(|(row, value)| value.filter(|_| counts(row)));
        let rows = rows.map(|value| ValueBuffer::from(Vec::from_iter(value)));
        list_states(rows.collect())
    }

    fn size(&self) -> usize {
        let values: usize = self.groups.iter().map(ValueBuffer::bytes).sum();
        size_of_val(self) + self.groups.capacity() * size_of::<ValueBuffer>() + values
    }
}

/// The percentile `share` of the values.
fn percentile(values: ValueBuffer, share: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of values in memory"
    )]
    let (place, below) = {
        let place = share * last as f64;
        (place, place.floor() as usize)
    };
    if below > last {
        return None;
    }
    let (low, high) = values.nth_and_next(below)?;
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
        let of = |values: &[f64], share: f64| percentile(ValueBuffer::from(values.to_vec()), share);
        assert_eq!(of(&[0.0, 1e9], 0.123_456_78), Some(123_456_780.0));
        assert_eq!(of(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0], 0.5), Some(2.5));
        assert_eq!(of(&[1.0, 2.0], 1.0), Some(2.0));
        assert_eq!(of(&[1.0, 2.0], 0.0), Some(1.0));
        assert_eq!(of(&[7.0], 0.3), Some(7.0));
        assert_eq!(of(&[], 0.3), None);
        let distinct = Percentile {
            share: 0.5,
            distinct: true,
            gives: DataType::Float64,
        };
        let mut values = ValueBuffer::from(vec![1.0, 1.0, 1.0, 5.0]);
        assert_eq!(distinct.evaluate(&mut values), Some(3.0));
    }

    #[test]
    fn groups_in_parts_are_as_groups_at_once() {
        let wanted = || Percentile {
            share: 0.5,
            distinct: false,
            gives: DataType::Float64,
        };
        let groups = || PercentileGroups {
            wanted: wanted(),
            groups: Vec::new(),
        };
        let values: ArrayRef = Arc::new(Float64Array::from(vec![
            Some(1.0),
            None,
            Some(3.0),
            Some(9.0),
            Some(100.0),
        ]));
        let kept = BooleanArray::from(vec![Some(true), Some(true), Some(true), Some(true), None]);
        let of_rows = [0, 0, 2, 0, 0];
        let mut at_once = groups();
        let all = [Arc::clone(&values)];
        at_once
            .update_batch(&all, &of_rows, Some(&kept), 3)
            .unwrap();
        let mut merged = groups();
        let states = groups().convert_to_state(&all, Some(&kept)).unwrap();
        merged.merge_batch(&states, &of_rows, 3).unwrap();
        let states = at_once.state(EmitTo::First(1)).unwrap();
        let mut again = groups();
        again.merge_batch(&states, &[0], 1).unwrap();
        again.update_batch(&all, &[1, 1, 1, 1, 1], None, 2).unwrap();
        let found = |groups: &mut PercentileGroups| {
            let found = groups.evaluate(EmitTo::All).unwrap();
            let found = found.as_primitive::<Float64Type>();
            found.iter().collect::<Vec<_>>()
        };
        assert_eq!(found(&mut merged), [Some(5.0), None, Some(3.0)]);
        assert_eq!(found(&mut again), [Some(5.0), Some(6.0)]);
        assert_eq!(found(&mut at_once), [None, Some(3.0)]);
    }
}
