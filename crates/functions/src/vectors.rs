//! Aggregates that return a list of numbers, each folded over all rows of a group: counts, sums, maxima.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, FixedSizeListArray, Float32Array, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::cast::as_primitive_array;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;

use super::aggregate::AggregateDefinition;
use super::scalar::argument;

/// How two rows are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Mean,
    Max,
}

/// State of an aggregate: a list of fixed size.
#[derive(Clone, Debug)]
pub(super) struct Vector {
    fold: Fold,
    values: Vec<f64>,
    /// Number of rows so far. Without rows the result is NULL.
    rows: i64,
}

impl Vector {
    /// Adds to an element, for sums. [`Vector::add_row`] counts the row.
    pub(super) fn add(&mut self, place: usize, value: f64) {
        if let Some(of_place) = self.values.get_mut(place) {
            *of_place += value;
        }
    }

    /// Counts a row, whose elements [`Vector::add`] has added.
    pub(super) fn add_row(&mut self) {
        self.rows += 1;
    }

    /// Folds a row of all elements, or a partial state.
    fn fold_values(&mut self, others: impl IntoIterator<Item = f64>) {
        for (own, other) in self.values.iter_mut().zip(others) {
            match self.fold {
                Fold::Sum | Fold::Mean => *own += other,
                Fold::Max => *own = own.max(other),
            }
        }
    }

    /// Folds a row of all elements, and counts it.
    pub(super) fn add_whole_row(&mut self, values: impl IntoIterator<Item = f64>) {
        self.fold_values(values);
        self.rows += 1;
    }
}

/// Adds the arguments of a batch to the state.
pub(super) type AddRowsFn = fn(&mut Vector, &[ArrayRef]) -> Result<()>;

/// An aggregate that returns a list of this width.
#[derive(Debug)]
pub(super) struct VectorAggregate {
    pub(super) width: usize,
    pub(super) fold: Fold,
    pub(super) take: AddRowsFn,
}

fn list_size(width: usize) -> i32 {
    i32::try_from(width).unwrap_or(i32::MAX)
}

impl AggregateDefinition for VectorAggregate {
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        let size = list_size(self.width);
        Ok(DataType::new_fixed_size_list(
            DataType::Float32,
            size,
            false,
        ))
    }

    fn accumulator(&self, _: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let least = match self.fold {
            Fold::Sum | Fold::Mean => 0.0,
            Fold::Max => f64::NEG_INFINITY,
        };
        Ok(Box::new(VectorAccumulator {
            take: self.take,
            vector: Vector {
                fold: self.fold,
                values: vec![least; self.width],
                rows: 0,
            },
        }))
    }

    fn state(&self, _: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        let values = DataType::new_list(DataType::Float64, true);
        vec![("values", values), ("rows", DataType::Int64)]
    }

    fn rejects_distinct(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct VectorAccumulator {
    take: AddRowsFn,
    vector: Vector,
}

impl Accumulator for VectorAccumulator {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        (self.take)(&mut self.vector, columns)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = argument(states, 0)?.as_list::<i32>();
        let rows = as_primitive_array::<Int64Type>(argument(states, 1)?)?;
        for (values, rows) in lists.iter().zip(rows.values()) {
            let Some(values) = values else {
                continue;
            };
            let values = values.as_primitive::<Float64Type>();
            if values.len() != self.vector.values.len() {
                return exec_err!("the state has another width");
            }
            self.vector.fold_values(values.values().iter().copied());
            self.vector.rows += rows;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: ArrayRef = Arc::new(Float64Array::from(self.vector.values.clone()));
        let values = SingleRowListArrayBuilder::new(values).build_list_scalar();
        Ok(vec![values, ScalarValue::Int64(Some(self.vector.rows))])
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "models read 32-bit floats"
    )]
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let vector = &self.vector;
        let of = match vector.fold {
            Fold::Mean => vector.rows as f64,
            Fold::Sum | Fold::Max => 1.0,
        };
        let values = vector.values.iter().map(|value| (value / of) as f32);
        let item = Arc::new(Field::new_list_field(DataType::Float32, false));
        let list = if vector.rows > 0 {
            let values = Arc::new(Float32Array::from_iter_values(values));
            FixedSizeListArray::try_new(item, list_size(vector.values.len()), values, None)?
        } else {
            FixedSizeListArray::new_null(item, list_size(vector.values.len()), 1)
        };
        Ok(ScalarValue::FixedSizeList(Arc::new(list)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.vector.values.capacity() * size_of::<f64>()
    }
}
