//! Converts Arrow IPC streams to JSON lines, the stored form.
//!
//! Lengths in a stream are untrusted. Messages are buffered as their bytes arrive, so memory use follows
//! the actual input. The decompressed size of a message is checked before decoding.

use std::io::{self, Read, Write};

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::{Message, root_as_message};
use arrow::json::WriterBuilder;
use arrow::json::writer::LineDelimited;

use crate::catch_panic;

/// Maximum size of a message in bytes, compressed and decompressed.
const MESSAGE_BYTES: u64 = 1 << 30;

/// Maximum number of rows of a batch. Rows may take no bytes at all.
const BATCH_ROWS: usize = 1 << 24;

/// Format of timestamps without a zone: UTC, as in pandas and pyarrow.
const TIMESTAMP_FORMAT: &str = "%Y-%m-%dT%H:%M:%S%.fZ";

/// Marker before the length of a message.
const CONTINUATION_MARKER: [u8; 4] = [0xff; 4];

/// End-of-stream marker.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Converts the rows of a batch to lines, with a key for each column that is not NULL.
///
/// # Errors
/// A column has a type that JSON cannot represent.
pub fn batch_to_lines(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut lines = Vec::new();
    write_batch(batch, &mut lines)?;
    Ok(lines)
}

fn write_batch(batch: &RecordBatch, to: impl Write) -> Result<(), ArrowError> {
    let spelled = WriterBuilder::new().with_timestamp_format(TIMESTAMP_FORMAT.to_owned());
    let mut writer = spelled.build::<_, LineDelimited>(to);
    writer.write(batch)?;
    writer.finish()
}

/// Writes the batches of `input` as lines, each batch as soon as it is complete.
///
/// # Errors
/// `input` is no stream of Arrow batches, is truncated, or cannot be read; or `output` cannot be written.
pub fn write_lines(input: impl Read, output: impl Write) -> io::Result<()> {
    match catch_panic(|| decode_batches(input, output)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(into_io_error(error)),
        Err(reason) => Err(io::Error::other(format!(
            "not Arrow's streaming IPC: {reason}"
        ))),
    }
}

fn decode_batches(mut input: impl Read, mut output: impl Write) -> Result<(), ArrowError> {
    let mut decoder = StreamDecoder::new();
    loop {
        let message = read_message(&mut input)?;
        let ended = message.is_none();
        // A message without a body is decoded when the next bytes follow; for the last one, the end marker.
        let mut buffer = Buffer::from_vec(message.unwrap_or_else(|| END_OF_STREAM.to_vec()));
        while !buffer.is_empty() {
            let Some(batch) = decoder.decode(&mut buffer)? else {
                continue;
            };
            let rows = batch.num_rows();
            if rows > BATCH_ROWS {
                let reason = format!("a batch of {rows} rows, expected at most {BATCH_ROWS}");
                return Err(ipc_error(reason));
            }
            write_batch(&batch, &mut output)?;
        }
        if ended {
            return decoder.finish();
        }
    }
}

/// Reads a message with its length and body. Returns `None` at the end.
fn read_message(input: &mut impl Read) -> Result<Option<Vec<u8>>, ArrowError> {
    let mut bytes = read_up_to(input, 4)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes == CONTINUATION_MARKER {
        bytes.extend(read_up_to(input, 4)?);
    }
    let start = bytes.len();
    let length = bytes
        .last_chunk()
        .filter(|_| start % 4 == 0 && bytes != CONTINUATION_MARKER);
    let Some(length) = length.copied().map(u32::from_le_bytes) else {
        return Err(ipc_error("it ends within a message"));
    };
    if length == 0 {
        return Ok(None);
    }
    bytes.extend(read_up_to(input, u64::from(length))?);
    let head = bytes.get(start..).unwrap_or(&[]);
    if head.len() as u64 != u64::from(length) {
        return Err(ipc_error("it ends within a message"));
    }
    let head = root_as_message(head).map_err(|error| ipc_error(error.to_string()))?;
    let length = u64::try_from(head.bodyLength()).unwrap_or(u64::MAX);
    if length > MESSAGE_BYTES {
        let length = head.bodyLength();
        return Err(ipc_error(format!(
            "a message of {length} bytes, expected at most {MESSAGE_BYTES}"
        )));
    }
    let body = read_up_to(input, length)?;
    if (body.len() as u64) < length {
        return Err(ipc_error("it ends within a message"));
    }
    let inflated = inflated_size(&head, &body);
    if inflated.is_none_or(|bytes| bytes > MESSAGE_BYTES) {
        return Err(ipc_error(format!(
            "a batch inflates to more than {MESSAGE_BYTES} bytes"
        )));
    }
    bytes.extend(body);
    Ok(Some(bytes))
}

/// Total decompressed size of the compressed buffers of a message, from the first eight bytes of each.
fn inflated_size(head: &Message<'_>, body: &[u8]) -> Option<u64> {
    let dictionary = || head.header_as_dictionary_batch()?.data();
    let batch = head.header_as_record_batch().or_else(dictionary);
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else {
        return Some(0);
    };
    let mut sum = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok()?;
        let length = body
            .get(start..)
            .and_then(|buffer| buffer.first_chunk().copied());
        // -1 precedes bytes that are not compressed.
        let length = length.map_or(0, i64::from_le_bytes).max(0);
        sum = sum.checked_add(length.unsigned_abs())?;
    }
    Some(sum)
}

/// Reads the next `count` bytes, or fewer at the end. The buffer grows with the data.
fn read_up_to(input: &mut impl Read, count: u64) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    input.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn ipc_error(reason: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(reason.into())
}

fn into_io_error(error: ArrowError) -> io::Error {
    match error {
        // An unexpected end means that the input is truncated or is another format.
        ArrowError::IoError(_, error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        other => io::Error::other(format!("not Arrow's streaming IPC: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, NullArray, StringArray, TimestampMillisecondArray};
    use arrow::datatypes::{DataType, Schema, TimeUnit};
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};

    use super::*;

    fn batch() -> RecordBatch {
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["mm", "conv", "mm"]));
        let times: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(2.5)]));
        RecordBatch::try_from_iter([("workload_key", keys), ("runtime_ns", times)]).unwrap()
    }

    fn stream(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
        let schema = batches
            .first()
            .map_or_else(Schema::empty, |b| b.schema().as_ref().clone());
        let options = IpcWriteOptions::default().try_with_compression(compression);
        let mut bytes = Vec::new();
        let mut writer =
            StreamWriter::try_new_with_options(&mut bytes, &schema, options.unwrap()).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        bytes
    }

    /// Lines of a stream, and its error.
    fn collect_lines(bytes: &[u8]) -> (String, Option<String>) {
        let mut text = Vec::new();
        let failed = write_lines(bytes, &mut text).err();
        let text = String::from_utf8_lossy(&text).into_owned();
        (text, failed.map(|error| error.to_string()))
    }

    const LINES: &str = "{\"workload_key\":\"mm\",\"runtime_ns\":1.5}\n\
                         {\"workload_key\":\"conv\"}\n\
                         {\"workload_key\":\"mm\",\"runtime_ns\":2.5}\n";

    #[test]
    fn batches_become_lines() {
        for compression in [
            None,
            Some(CompressionType::ZSTD),
            Some(CompressionType::LZ4_FRAME),
        ] {
            let bytes = stream(&[batch(), batch()], compression);
            assert_eq!(collect_lines(&bytes), (LINES.repeat(2), None));
            let open = &bytes[..bytes.len() - END_OF_STREAM.len()];
            assert_eq!(
                collect_lines(open),
                (LINES.repeat(2), None),
                "a stream may have no end"
            );
        }
        assert_eq!(collect_lines(&stream(&[], None)), (String::new(), None));
        assert_eq!(collect_lines(b""), (String::new(), None));
        assert!(collect_lines(b"{\"workload_key\": 1}\n").1.is_some());
    }

    #[test]
    fn times_without_a_zone_are_in_utc() {
        let times = TimestampMillisecondArray::from(vec![Some(1_697_658_022_500), None]);
        let units = [
            (TimeUnit::Second, "2023-10-18T19:40:22Z"),
            (TimeUnit::Millisecond, "2023-10-18T19:40:22.500Z"),
            (TimeUnit::Microsecond, "2023-10-18T19:40:22.500Z"),
            (TimeUnit::Nanosecond, "2023-10-18T19:40:22.500Z"),
        ];
        for (zone, (unit, wanted)) in [None, Some("UTC"), Some("+02:00")]
            .iter()
            .flat_map(|zone| units.map(|unit| (zone, unit)))
        {
            let zone = zone.map(Into::into);
            let times = arrow::compute::cast(
                &times.clone().with_timezone("UTC"),
                &DataType::Timestamp(unit, zone.clone()),
            );
            let times =
                RecordBatch::try_from_iter_with_nullable([("measured_at", times.unwrap(), true)]);
            let lines = String::from_utf8(batch_to_lines(&times.unwrap()).unwrap()).unwrap();
            let wanted = match zone.as_deref() {
                Some("+02:00") => wanted.replace("T19", "T21").replace('Z', "+02:00"),
                _ => wanted.to_owned(),
            };
            assert_eq!(lines, format!("{{\"measured_at\":\"{wanted}\"}}\n{{}}\n"));
        }
    }

    #[test]
    fn a_cut_stream_fails() {
        let bytes = stream(&[batch()], None);
        for end in 1..bytes.len() - END_OF_STREAM.len() {
            let (text, failed) = collect_lines(&bytes[..end]);
            let is_between = bytes.get(end..end + 4) == Some(&CONTINUATION_MARKER[..]);
            assert_eq!(failed.is_none(), is_between, "{end} of {}", bytes.len());
            assert_eq!(text, "", "{end}");
        }
    }

    #[test]
    fn damage_is_reported_or_harmless_and_takes_no_memory() {
        for compression in [
            None,
            Some(CompressionType::ZSTD),
            Some(CompressionType::LZ4_FRAME),
        ] {
            let bytes = stream(&[batch()], compression);
            for place in 0..bytes.len() {
                for damage in [0xff, 0x80, 0x01] {
                    let mut bytes = bytes.clone();
                    bytes[place] ^= damage;
                    let (text, failed) = collect_lines(&bytes);
                    assert!(failed.is_some() || text.len() < 1 << 26, "{place}");
                }
            }
        }
        let rows = NullArray::new(BATCH_ROWS + 1);
        let rows = RecordBatch::try_from_iter([("x", Arc::new(rows) as ArrayRef)]).unwrap();
        let (_, failed) = collect_lines(&stream(&[rows], None));
        assert!(failed.unwrap().contains("rows, expected at most"));
    }

    #[test]
    fn wrong_lengths_are_rejected_before_allocation() {
        let times: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 1000]));
        let times = RecordBatch::try_from_iter([("runtime_ns", times)]).unwrap();
        let bytes = stream(&[times], Some(CompressionType::ZSTD));
        // A compressed buffer starts with its decompressed length.
        let length = 8000_i64.to_le_bytes();
        let at = bytes.windows(8).rposition(|eight| eight == length);
        let at = at.unwrap();
        let mut lie = bytes.clone();
        lie[at..at + 8].copy_from_slice(&(1_i64 << 50).to_le_bytes());
        let (_, failed) = collect_lines(&lie);
        assert!(failed.unwrap().contains("inflates to more than"));
        let mut lie = bytes;
        lie[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(
            collect_lines(&lie)
                .1
                .unwrap()
                .contains("ends within a message")
        );
    }
}
