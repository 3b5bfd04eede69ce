//! Streams of Arrow batches as the lines of JSON that are stored.

use std::io::{self, Read};
use std::sync::mpsc::SyncSender;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::json::LineDelimitedWriter;

use super::paced::Handed;

/// The rows of a batch as lines: a key for each column that is not NULL.
pub(super) fn lines(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut lines = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut lines);
    writer.write(batch)?;
    writer.finish()?;
    drop(writer);
    Ok(lines)
}

/// Hands on the batches of `input` as lines, until it ends or nobody listens any more.
pub(super) fn hand_on(input: impl Read, sender: &SyncSender<Handed>) {
    let reader = match StreamReader::try_new(input, None) {
        Ok(reader) => reader,
        Err(error) => {
            let _ = sender.send(Handed::Failed(failure(error)));
            return;
        }
    };
    for batch in reader {
        let handed = match batch.and_then(|batch| lines(&batch)) {
            Ok(lines) => Handed::Bytes(lines),
            Err(error) => Handed::Failed(failure(error)),
        };
        let failed = matches!(handed, Handed::Failed(_));
        if sender.send(handed).is_err() || failed {
            return;
        }
    }
}

fn failure(error: ArrowError) -> io::Error {
    match error {
        // So an input ends that is cut off, or was something else.
        ArrowError::IoError(_, error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        other => io::Error::other(format!("not Arrow's streaming IPC: {other}")),
    }
}
