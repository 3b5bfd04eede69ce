//! Streams of Arrow batches as the lines of JSON that are stored.
//!
//! A stream may lie about lengths. Messages are gathered here as their bytes come, so that memory
//! follows what is there, and what a message would inflate to is looked at before it is decoded.

use std::io::{self, Read, Write};
use std::sync::mpsc::SyncSender;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::{Message, root_as_message};
use arrow::json::WriterBuilder;
use arrow::json::writer::LineDelimited;

use super::paced::Handed;
use super::workers::caught;

/// Most bytes of a message, and of what it inflates to.
const MESSAGE_BYTES: u64 = 1 << 30;

/// Most rows of a batch: rows may take no bytes at all.
const BATCH_ROWS: usize = 1 << 24;

/// How times without a zone are written: in UTC, as pandas and pyarrow mean them.
const NAIVE: &str = "%Y-%m-%dT%H:%M:%S%.fZ";

/// Begins a message, before its length.
const CONTINUED: [u8; 4] = [0xff; 4];

/// The end of a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The rows of a batch as lines: a key for each column that is not NULL.
pub(super) fn lines(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut lines = Vec::new();
    write(batch, &mut lines)?;
    Ok(lines)
}

fn write(batch: &RecordBatch, to: impl Write) -> Result<(), ArrowError> {
    let spelled = WriterBuilder::new().with_timestamp_format(NAIVE.to_owned());
    let mut writer = spelled.build::<_, LineDelimited>(to);
    writer.write(batch)?;
    writer.finish()
}

/// Hands on the batches of `input` as lines, until it ends or nobody listens any more.
pub(crate) fn hand_on(input: impl Read, sender: &SyncSender<Handed>) {
    let done = caught(|| each(input, sender));
    let failed = match done {
        Ok(Ok(())) => return,
        Ok(Err(error)) => failure(error),
        Err(reason) => io::Error::other(format!("not Arrow's streaming IPC: {reason}")),
    };
    // Nobody listens any more where this is not taken.
    let _ = sender.send(Handed::Failed(failed));
}

fn each(mut input: impl Read, sender: &SyncSender<Handed>) -> Result<(), ArrowError> {
    let mut decoder = StreamDecoder::new();
    loop {
        let message = message(&mut input)?;
        let ended = message.is_none();
        // What has no body is decoded when something follows it: at last the end.
        let mut buffer = Buffer::from_vec(message.unwrap_or_else(|| END.to_vec()));
        while !buffer.is_empty() {
            let Some(batch) = decoder.decode(&mut buffer)? else {
                continue;
            };
            let rows = batch.num_rows();
            if rows > BATCH_ROWS {
                let reason = format!("a batch of {rows} rows: at most {BATCH_ROWS} are read");
                return Err(wrong(reason));
            }
            match write(&batch, HandOn(sender)) {
                Err(error) if is_over(&error) => return Ok(()),
                written => written?,
            }
        }
        if ended {
            return decoder.finish();
        }
    }
}

/// Lines on their way, as they are written.
struct HandOn<'a>(&'a SyncSender<Handed>);

impl Write for HandOn<'_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let handed = self.0.send(Handed::Bytes(lines.to_vec()));
        handed.map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A message of a stream with its length and body; `None` at the end.
fn message(input: &mut impl Read) -> Result<Option<Vec<u8>>, ArrowError> {
    let mut bytes = take(input, 4)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes == CONTINUED {
        bytes.extend(take(input, 4)?);
    }
    let start = bytes.len();
    let length = bytes
        .last_chunk()
        .filter(|_| start % 4 == 0 && bytes != CONTINUED);
    let Some(length) = length.copied().map(u32::from_le_bytes) else {
        return Err(wrong("it ends within a message"));
    };
    if length == 0 {
        return Ok(None);
    }
    bytes.extend(take(input, u64::from(length))?);
    let head = bytes.get(start..).unwrap_or(&[]);
    if head.len() as u64 != u64::from(length) {
        return Err(wrong("it ends within a message"));
    }
    let head = root_as_message(head).map_err(|error| wrong(error.to_string()))?;
    let length = u64::try_from(head.bodyLength()).unwrap_or(u64::MAX);
    if length > MESSAGE_BYTES {
        let length = head.bodyLength();
        return Err(wrong(format!(
            "a message of {length} bytes: at most {MESSAGE_BYTES} are read"
        )));
    }
    let body = take(input, length)?;
    if (body.len() as u64) < length {
        return Err(wrong("it ends within a message"));
    }
    let inflated = inflated(&head, &body);
    if inflated.is_none_or(|bytes| bytes > MESSAGE_BYTES) {
        return Err(wrong(format!(
            "a batch inflates to more than {MESSAGE_BYTES} bytes"
        )));
    }
    bytes.extend(body);
    Ok(Some(bytes))
}

/// Bytes that the compressed buffers of a message say they inflate to, each in its first eight.
fn inflated(head: &Message<'_>, body: &[u8]) -> Option<u64> {
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
        // -1 stands before bytes that are not compressed.
        let length = length.map_or(0, i64::from_le_bytes).max(0);
        sum = sum.checked_add(length.unsigned_abs())?;
    }
    Some(sum)
}

/// The next bytes, fewer at the end; memory grows as they come.
fn take(input: &mut impl Read, count: u64) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    input.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn wrong(reason: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(reason.into())
}

/// Nobody listens any more.
fn is_over(error: &ArrowError) -> bool {
    matches!(error, ArrowError::IoError(_, error) if error.kind() == io::ErrorKind::BrokenPipe)
}

fn failure(error: ArrowError) -> io::Error {
    match error {
        // So an input ends that is cut off, or was something else.
        ArrowError::IoError(_, error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        other => io::Error::other(format!("not Arrow's streaming IPC: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

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

    /// The lines of a stream, and how it failed.
    fn handed(bytes: &[u8]) -> (String, Option<String>) {
        let (sender, receiver) = sync_channel(4);
        let (mut text, mut failed) = (Vec::new(), None);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                hand_on(bytes, &sender);
                drop(sender);
            });
            for handed in receiver {
                match handed {
                    Handed::Bytes(bytes) => text.extend(bytes),
                    Handed::Failed(error) => failed = Some(error.to_string()),
                    Handed::Flush => {}
                }
            }
        });
        (String::from_utf8_lossy(&text).into_owned(), failed)
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
            assert_eq!(handed(&bytes), (LINES.repeat(2), None));
            let open = &bytes[..bytes.len() - END.len()];
            assert_eq!(
                handed(open),
                (LINES.repeat(2), None),
                "a stream may have no end"
            );
        }
        assert_eq!(handed(&stream(&[], None)), (String::new(), None));
        assert_eq!(handed(b""), (String::new(), None));
        assert!(handed(b"{\"workload_key\": 1}\n").1.is_some());
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
            let lines = String::from_utf8(lines(&times.unwrap()).unwrap()).unwrap();
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
        for end in 1..bytes.len() - END.len() {
            let (text, failed) = handed(&bytes[..end]);
            let is_between = bytes.get(end..end + 4) == Some(&CONTINUED[..]);
            assert_eq!(failed.is_none(), is_between, "{end} of {}", bytes.len());
            assert_eq!(text, "", "{end}");
        }
    }

    #[test]
    fn damage_is_told_or_harmless_and_takes_no_memory() {
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
                    let (text, failed) = handed(&bytes);
                    assert!(failed.is_some() || text.len() < 1 << 26, "{place}");
                }
            }
        }
        let rows = NullArray::new(BATCH_ROWS + 1);
        let rows = RecordBatch::try_from_iter([("x", Arc::new(rows) as ArrayRef)]).unwrap();
        let (_, failed) = handed(&stream(&[rows], None));
        assert!(failed.unwrap().contains("rows: at most"));
    }

    #[test]
    fn lengths_that_lie_are_refused_before_anything_is_allocated() {
        let times: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 1000]));
        let times = RecordBatch::try_from_iter([("runtime_ns", times)]).unwrap();
        let bytes = stream(&[times], Some(CompressionType::ZSTD));
        // A buffer that is compressed begins with its length.
        let length = 8000_i64.to_le_bytes();
        let at = bytes.windows(8).rposition(|eight| eight == length);
        let at = at.unwrap();
        let mut lie = bytes.clone();
        lie[at..at + 8].copy_from_slice(&(1_i64 << 50).to_le_bytes());
        let (_, failed) = handed(&lie);
        assert!(failed.unwrap().contains("inflates to more than"));
        let mut lie = bytes;
        lie[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(handed(&lie).1.unwrap().contains("ends within a message"));
    }
}
