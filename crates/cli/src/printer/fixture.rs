//! Results for the tests of all formats.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema, SchemaRef, TimeUnit};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;

use super::{Format, PrintError, Style, print};

fn attributes() -> Fields {
    vec![
        Field::new("a", DataType::Float64, true),
        Field::new("b", DataType::Utf8, true),
    ]
    .into()
}

pub(super) fn schema() -> SchemaRef {
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("runtime_ns", DataType::Float64, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("tags", DataType::List(item), true),
        Field::new("attributes", DataType::Struct(attributes()), true),
        Field::new("hash", DataType::Binary, true),
        Field::new(
            "at",
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            true,
        ),
        Field::new("price", DataType::Decimal128(6, 2), true),
    ]))
}

/// Returns four rows: plain values, NULLs, special values, and empty values.
pub(super) fn batch() -> RecordBatch {
    let tags = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(7)]),
    ]);
    let numbers = Float64Array::from(vec![Some(1.5), None, Some(f64::INFINITY), Some(1.5e10)]);
    let names = StringArray::from(vec![Some("x"), None, None, Some("")]);
    let nulls = NullBuffer::from(vec![true, false, true, true]);
    let columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(names)];
    let times = vec![Some(1_709_209_800_000_250), None, Some(0), Some(-1_000_000)];
    let prices = Decimal128Array::from(vec![Some(1250), None, Some(-5), Some(0)]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)])),
        Arc::new(Float64Array::from(vec![
            Some(13_671_200.0),
            None,
            Some(f64::NAN),
            Some(1e22),
        ])),
        Arc::new(StringArray::from(vec![
            Some("conv2d"),
            None,
            Some("a,\"b\"\tc|d\\\ne"),
            Some(""),
        ])),
        Arc::new(tags),
        Arc::new(StructArray::new(attributes(), columns, Some(nulls))),
        Arc::new(BinaryArray::from(vec![
            Some(&b"\x00\xff"[..]),
            None,
            Some(b""),
            Some(b"\n"),
        ])),
        Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC")),
        Arc::new(prices.with_precision_and_scale(6, 2).unwrap()),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

pub(super) fn empty() -> RecordBatch {
    RecordBatch::new_empty(schema())
}

pub(super) fn stream(
    schema: SchemaRef,
    batches: Vec<Result<RecordBatch, DataFusionError>>,
) -> SendableRecordBatchStream {
    Box::pin(RecordBatchStreamAdapter::new(
        schema,
        futures::stream::iter(batches),
    ))
}

pub(super) fn bytes(
    format: Format,
    schema: SchemaRef,
    batches: &[RecordBatch],
) -> Result<Vec<u8>, PrintError> {
    styled_bytes(format, Style::default(), schema, batches)
}

pub(super) fn styled_bytes(
    format: Format,
    style: Style,
    schema: SchemaRef,
    batches: &[RecordBatch],
) -> Result<Vec<u8>, PrintError> {
    let mut out = Vec::new();
    let stream = stream(schema, batches.iter().cloned().map(Ok).collect());
    let rows = futures::executor::block_on(print(stream, format, style, &mut out))?;
    assert_eq!(
        rows,
        batches
            .iter()
            .map(|batch| batch.num_rows() as u64)
            .sum::<u64>()
    );
    Ok(out)
}

pub(super) fn printed_as(format: Format, schema: SchemaRef, batches: &[RecordBatch]) -> String {
    String::from_utf8(bytes(format, schema, batches).unwrap()).unwrap()
}

pub(super) fn printed(format: Format, batches: &[RecordBatch]) -> String {
    printed_as(format, schema(), batches)
}
