//! Files that are read as a whole; stored as bytes or as columns.

use tsql_codecs::identity::ContentHasher;
use tsql_error::{Error, Result};
use tsql_formats::{ByteCounter, Compression, DocumentFormat, Input};

use super::budget;
use super::format_reader::{FormatInput, InputFiles, ReadEvent, Sink};
use super::platform::NO_PLATFORM;
use crate::ingest_log::{FilePlan, IngestLog, ReadPlan, Source, SourceSegment};

/// Maximum file size in bytes, after decompression.
const FILE_BYTES: u64 = 1 << 30;

/// A file that was read but not parsed.
pub(crate) struct Document {
    pub(super) reading: ReadPlan,
    pub(super) input: Input,
    pub(super) bytes: Vec<u8>,
    content_hash: String,
    compression: Option<Compression>,
}

impl Document {
    /// Returns its segment for the ingest log.
    pub(super) fn to_segment(&self, dataset: &'static str) -> SourceSegment {
        let (reading, path) = (self.reading.clone(), self.input.path.clone());
        let (length, hash) = (self.bytes.len() as u64, self.content_hash.clone());
        SourceSegment {
            compression: self.compression.map(Compression::name),
            ..SourceSegment::for_document(dataset, reading, path, length, hash)
        }
    }
}

/// Reads a file of a format without platforms and passes it to `hand`, unless the store has it.
pub(super) fn read(
    format: &dyn DocumentFormat,
    given: &FormatInput,
    ledger: &mut IngestLog,
    hand: &mut Sink<'_, Document>,
) -> Result<Option<()>> {
    read_for((format, NO_PLATFORM), given, ledger, |_| true, hand)
}

/// Reads a file of a format and a platform and passes it to `hand`, unless the store has it. It becomes an alias only of
/// sources with the same bytes that `alike` accepts.
pub(super) fn read_for(
    (format, platform): (&dyn DocumentFormat, &str),
    given: &FormatInput,
    ledger: &mut IngestLog,
    alike: impl Fn(&Source) -> bool,
    hand: &mut Sink<'_, Document>,
) -> Result<Option<()>> {
    let InputFiles::File(input, compression) = &given.what else {
        return Ok(Some(()));
    };
    let path = input.path.clone();
    if hand(ReadEvent::Taken(format.description())).is_none() {
        return Ok(None);
    }
    let passed = ByteCounter::default();
    let bytes = match read_bytes(input, format, &passed) {
        Ok(bytes) => bytes,
        Err(reason) => return Ok(hand(ReadEvent::Failed(path, reason))),
    };
    let length = bytes.len() as u64;
    if hand(ReadEvent::Bytes(passed.take().unwrap_or(length))).is_none() {
        return Ok(None);
    }
    let hash = ContentHasher::hash_bytes(&bytes);
    let dataset = format.dataset();
    let plan = ledger.plan_document(dataset, platform, &input.name, length, &hash, alike);
    let reading = match plan {
        FilePlan::Unchanged => return Ok(hand(ReadEvent::Unchanged(1))),
        FilePlan::Alias(mut alias) => {
            alias.compression = *compression;
            return Ok(hand(ReadEvent::Alias(alias, path)));
        }
        FilePlan::Read(reading) => reading,
    };
    ledger.add(Source::new_uncommitted(&reading, length, hash.clone()));
    let source_id = reading.source_id;
    let document = Document {
        reading,
        input: input.clone(),
        bytes,
        content_hash: hash,
        compression: *compression,
    };
    Ok(hand(ReadEvent::Work(path, Some(source_id), document)))
}

/// Reads all bytes of a file. Returns the reason on failure.
fn read_bytes(
    input: &Input,
    format: &dyn DocumentFormat,
    passed: &ByteCounter,
) -> Result<Vec<u8>, String> {
    let opened = input
        .stream(passed)
        .map_err(|error| match Error::from(error) {
            Error::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        });
    let (stream, _) = opened?;
    let read = budget::read_limited(stream, FILE_BYTES);
    let words = format!("of {}", format.description());
    read.map_err(|why| why.describe(&words, FILE_BYTES))
}
