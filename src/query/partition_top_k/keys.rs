//! Keys of rows: the partition of a row as a number, and its sort key as bytes whose order is that of rows.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, PrimitiveArray, RecordBatch};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float16Type, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, Schema,
};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

use crate::query::sort_keys::{LongKey, prefix, with_equal_floats};

/// A function whose value is at most k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    RowNumber,
    Rank,
    DenseRank,
}

impl Function {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
        }
    }
}

/// Which rows of which partitions are wanted.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) function: Function,
    pub(super) k: usize,
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<PhysicalSortExpr>,
}

impl Spec {
    /// How sort keys become bytes.
    pub(super) fn order_fields(&self, schema: &Schema) -> Result<Vec<SortField>> {
        let field = |key: &PhysicalSortExpr| {
            let data_type = key.expr.data_type(schema)?;
            Ok(SortField::new_with_options(data_type, key.options))
        };
        self.order.iter().map(field).collect()
    }

    pub(super) fn partition_fields(&self, schema: &Schema) -> Result<Vec<SortField>> {
        let keys = self.partition.iter();
        keys.map(|key| Ok(SortField::new(key.data_type(schema)?)))
            .collect()
    }
}

/// A sort key that is kept.
pub(super) trait Key: Ord + Clone + Send + 'static {
    /// The key with these bytes.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Compares the key with bytes of another.
    fn compare(&self, bytes: &[u8]) -> Ordering;

    /// Bytes beside the value itself.
    fn heap_bytes(&self) -> usize;
}

/// A key of at most 16 bytes.
impl Key for u128 {
    fn from_bytes(bytes: &[u8]) -> Self {
        prefix(bytes)
    }

    fn compare(&self, bytes: &[u8]) -> Ordering {
        self.cmp(&prefix(bytes))
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A key of any length.
impl Key for LongKey {
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.into()
    }

    fn compare(&self, bytes: &[u8]) -> Ordering {
        self.compare_bytes(bytes)
    }

    fn heap_bytes(&self) -> usize {
        self.len()
    }
}

/// Computes sort keys of batches.
pub(super) struct OrderKeys {
    order: Vec<PhysicalSortExpr>,
    /// `None` without sort keys: all rows are equal.
    converter: Option<RowConverter>,
    are_short: bool,
    has_ties: bool,
}

impl OrderKeys {
    pub(super) fn try_new(spec: &Spec, schema: &Schema) -> Result<Self> {
        let fields = spec.order_fields(schema)?;
        let mut bytes = Some(0);
        for key in &spec.order {
            let width = encoded_bytes(&key.expr.data_type(schema)?);
            bytes = bytes.zip(width).map(|(bytes, width)| bytes + width);
        }
        let converter = if fields.is_empty() {
            None
        } else {
            Some(RowConverter::new(fields)?)
        };
        Ok(Self {
            order: spec.order.clone(),
            converter,
            are_short: bytes.is_some_and(|bytes| bytes <= size_of::<u128>()),
            has_ties: spec.function != Function::RowNumber,
        })
    }

    /// Whether each key fits into a `u128`.
    pub(super) fn are_short(&self) -> bool {
        self.are_short
    }

    /// The keys of a batch; `None` if all are equal.
    pub(super) fn compute(&mut self, batch: &RecordBatch) -> Result<Option<Rows>> {
        let Some(converter) = &self.converter else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(self.order.len());
        for key in &self.order {
            let values = key.expr.evaluate(batch)?.into_array(batch.num_rows())?;
            // What a rank may take for equal is equal; the order of others stays, so no row of a lower rank is dropped.
            columns.push(if self.has_ties {
                with_equal_floats(values)
            } else {
                values
            });
        }
        Ok(Some(converter.convert_columns(&columns)?))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.converter.as_ref().map_or(0, RowConverter::size)
    }
}

/// Bytes of a value of fixed width in a key, with the one that says whether it is NULL.
fn encoded_bytes(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Boolean => Some(2),
        _ => Some(1 + data_type.primitive_width()?),
    }
}

/// Numbers the partitions of rows.
pub(super) struct Partitions {
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    known: Box<dyn GroupValues>,
}

impl Partitions {
    pub(super) fn try_new(spec: &Spec, schema: &Schema) -> Result<Self> {
        let mut fields = Vec::with_capacity(spec.partition.len());
        for (index, expr) in spec.partition.iter().enumerate() {
            let data_type = stored_type(expr.data_type(schema)?);
            fields.push(Field::new(format!("key{index}"), data_type, true));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self {
            exprs: spec.partition.clone(),
            known: new_group_values(schema, &GroupOrdering::None)?,
        })
    }

    /// Sets `numbers` to the partition of each row; new ones get the next numbers.
    pub(super) fn find(&mut self, batch: &RecordBatch, numbers: &mut Vec<usize>) -> Result<()> {
        let mut columns = Vec::with_capacity(self.exprs.len());
        for expr in &self.exprs {
            columns.push(bits(expr.evaluate(batch)?.into_array(batch.num_rows())?));
        }
        self.known.intern(&columns, numbers)
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.known.size()
    }
}

/// The type of [`bits`].
fn stored_type(data_type: DataType) -> DataType {
    match data_type {
        DataType::Float64 => DataType::Int64,
        DataType::Float32 => DataType::Int32,
        DataType::Float16 => DataType::Int16,
        other => other,
    }
}

/// Floats as their bits: values that a window may tell apart are told apart, so its partitions are unions of these.
fn bits(values: ArrayRef) -> ArrayRef {
    fn as_bits<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(values: &ArrayRef) -> ArrayRef {
        let values = values.as_primitive::<From>();
        let bits = values.values().inner().clone().into();
        Arc::new(PrimitiveArray::<To>::new(bits, values.nulls().cloned()))
    }
    match values.data_type() {
        DataType::Float64 => as_bits::<Float64Type, Int64Type>(&values),
        DataType::Float32 => as_bits::<Float32Type, Int32Type>(&values),
        DataType::Float16 => as_bits::<Float16Type, Int16Type>(&values),
        _ => values,
    }
}
