//! Encodes keys: the partition of a row as a number, and its sort key as bytes with the same order.

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

use tsql_functions::sort_keys::{LongKey, key_prefix, normalize_floats};

/// A ranking function that is compared with k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankFunction {
    RowNumber,
    Rank,
    DenseRank,
}

impl RankFunction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
        }
    }
}

/// The rows to select: function, k, partition keys and sort keys.
#[derive(Debug)]
pub(super) struct TopKSpec {
    pub(super) function: RankFunction,
    pub(super) k: usize,
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<PhysicalSortExpr>,
}

impl TopKSpec {
    /// Returns the row format of the sort keys.
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

/// A stored sort key.
pub(super) trait EncodedKey: Ord + Clone + Send + 'static {
    /// Returns the key with these bytes.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Compares the key with another encoded key.
    fn compare(&self, bytes: &[u8]) -> Ordering;

    /// Heap memory in bytes.
    fn heap_bytes(&self) -> usize;
}

/// A key of at most 16 bytes.
impl EncodedKey for u128 {
    fn from_bytes(bytes: &[u8]) -> Self {
        key_prefix(bytes)
    }

    fn compare(&self, bytes: &[u8]) -> Ordering {
        self.cmp(&key_prefix(bytes))
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A key of any length.
impl EncodedKey for LongKey {
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.into()
    }

    fn compare(&self, bytes: &[u8]) -> Ordering {
        self.compare_bytes(bytes)
    }

    fn heap_bytes(&self) -> usize {
        self.bytes().len()
    }
}

/// Computes sort keys of batches.
pub(super) struct OrderKeys {
    order: Vec<PhysicalSortExpr>,
    /// `None` without sort keys; all rows are equal then.
    converter: Option<RowConverter>,
    are_short: bool,
    has_ties: bool,
}

impl OrderKeys {
    pub(super) fn try_new(spec: &TopKSpec, schema: &Schema) -> Result<Self> {
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
            has_ties: spec.function != RankFunction::RowNumber,
        })
    }

    /// Returns whether each key fits into a `u128`.
    pub(super) fn are_short(&self) -> bool {
        self.are_short
    }

    /// Encodes the keys of a batch; `None` if all are equal.
    pub(super) fn compute(&mut self, batch: &RecordBatch) -> Result<Option<Rows>> {
        let Some(converter) = &self.converter else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(self.order.len());
        for key in &self.order {
            let values = key.expr.evaluate(batch)?.into_array(batch.num_rows())?;
            // Floats that a rank may take as equal are made equal. Other orders are unchanged, so no row of a lower
            // rank is dropped.
            columns.push(if self.has_ties {
                normalize_floats(values)
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

/// Returns the encoded bytes of a value of fixed width, including the byte for NULL.
fn encoded_bytes(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Boolean => Some(2),
        _ => Some(1 + data_type.primitive_width()?),
    }
}

/// Numbers the partitions of rows.
pub(super) struct PartitionNumbers {
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    known: Box<dyn GroupValues>,
}

impl PartitionNumbers {
    pub(super) fn try_new(spec: &TopKSpec, schema: &Schema) -> Result<Self> {
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

    /// Sets `numbers` to the partition number of each row; new partitions get the next numbers.
    pub(super) fn find(&mut self, batch: &RecordBatch, numbers: &mut Vec<usize>) -> Result<()> {
        let mut columns = Vec::with_capacity(self.exprs.len());
        for expr in &self.exprs {
            columns.push(float_bits(
                expr.evaluate(batch)?.into_array(batch.num_rows())?,
            ));
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

/// Returns the type of [`float_bits`].
fn stored_type(data_type: DataType) -> DataType {
    match data_type {
        DataType::Float64 => DataType::Int64,
        DataType::Float32 => DataType::Int32,
        DataType::Float16 => DataType::Int16,
        other => other,
    }
}

/// Reinterprets floats as integers. Values that a window may distinguish stay distinct, so its partitions are unions of
/// these.
fn float_bits(values: ArrayRef) -> ArrayRef {
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
