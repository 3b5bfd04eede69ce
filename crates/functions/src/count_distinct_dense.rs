//! `count_distinct_dense(number)`: `count(DISTINCT number)` in a bitmap instead of a hash table.
//!
//! Intended for consecutively assigned numbers such as `config_id`: one bit per number, where a hash table takes 9 to
//! 18 bytes. The result is correct for any numbers, but scattered ones are slow.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::cast::{as_binary_array, as_int64_array};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use roaring::RoaringTreemap;

use super::aggregate::{Aggregate, AggregateDefinition};
use super::function_docs::FunctionDocs;

/// The function with its documentation.
pub(super) fn aggregate() -> Aggregate {
    let about = FunctionDocs::new(
        "count_distinct_dense",
        "Number of distinct numbers, counted in a bitmap",
        "SELECT count_distinct_dense(config_id) FROM records",
    )
    .argument(
        "number",
        DataType::Int64,
        "number, ideally one of consecutive numbers",
    )
    .source(
        "Chambi, Lemire, Kaser and Godin, Better bitmap performance with Roaring bitmaps, 2016",
    );
    Aggregate::new(&about, CountDistinctDense)
}

/// The function as a DataFusion UDF.
pub fn udaf() -> AggregateUDF {
    aggregate().into()
}

#[derive(Debug)]
struct CountDistinctDense;

impl AggregateDefinition for CountDistinctDense {
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn accumulator(&self, _: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SeenValues::default()))
    }

    fn state(&self, _: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        vec![("seen", DataType::Binary)]
    }

    fn empty_value(&self) -> Option<ScalarValue> {
        Some(ScalarValue::Int64(Some(0)))
    }
}

/// The set of numbers seen so far.
#[derive(Debug, Default)]
struct SeenValues(RoaringTreemap);

impl Accumulator for SeenValues {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some(column) = columns.first() else {
            return Ok(());
        };
        let mut run: Option<(u64, u64)> = None;
        for value in as_int64_array(column)?.iter().flatten() {
            let value = value.cast_unsigned();
            run = match run {
                Some((first, last)) if last.checked_add(1) == Some(value) => Some((first, value)),
                Some((first, last)) => {
                    self.0.insert_range(first..=last);
                    Some((value, value))
                }
                None => Some((value, value)),
            };
        }
        if let Some((first, last)) = run {
            self.0.insert_range(first..=last);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(column) = states.first() else {
            return Ok(());
        };
        for bytes in as_binary_array(column)?.iter().flatten() {
            self.0 |= RoaringTreemap::deserialize_from(bytes)?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut bytes = Vec::with_capacity(self.0.serialized_size());
        self.0.serialize_into(&mut bytes)?;
        Ok(vec![ScalarValue::Binary(Some(bytes))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let count = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        Ok(ScalarValue::Int64(Some(count)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.serialized_size()
    }
}
