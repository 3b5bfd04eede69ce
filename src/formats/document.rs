//! Files that are read as a whole, and kept by their bytes or by what these say.

use tsql_codecs::identity::ContentHasher;
use tsql_formats::{Compression, Documents, Input, Passed};

use super::budget;
use super::platform::NO_PLATFORM;
use super::taking::{Given, Hand, Piece, What};
use crate::error::{Error, Result};
use crate::ledger::{Closed, Ledger, Plan, Reading, Source};

/// Most bytes of a file, after decompression.
const FILE_BYTES: u64 = 1 << 30;

/// A file that was read and not parsed.
pub(crate) struct Document {
    pub(super) reading: Reading,
    pub(super) input: Input,
    pub(super) bytes: Vec<u8>,
    content_hash: String,
    compression: Option<Compression>,
}

impl Document {
    /// What the ledger will say of it.
    pub(super) fn closed(&self, dataset: &'static str) -> Closed {
        let (reading, path) = (self.reading.clone(), self.input.path.clone());
        let (length, hash) = (self.bytes.len() as u64, self.content_hash.clone());
        Closed {
            compression: self.compression.map(Compression::name),
            ..Closed::whole(dataset, reading, path, length, hash)
        }
    }
}

/// Reads a file of a format without platforms and hands it on, unless the store has it.
pub(super) fn read(
    format: &dyn Documents,
    given: &Given,
    ledger: &mut Ledger,
    hand: &mut Hand<'_, Document>,
) -> Result<Option<()>> {
    let What::File(input, compression) = &given.what else {
        return Ok(Some(()));
    };
    let path = input.path.clone();
    if hand(Piece::Taken(format.described())).is_none() {
        return Ok(None);
    }
    let passed = Passed::default();
    let bytes = match bytes(input, format, &passed) {
        Ok(bytes) => bytes,
        Err(reason) => return Ok(hand(Piece::Failed(path, reason))),
    };
    let length = bytes.len() as u64;
    if hand(Piece::Bytes(passed.take().unwrap_or(length))).is_none() {
        return Ok(None);
    }
    let hash = ContentHasher::of(&bytes);
    let dataset = format.dataset();
    let plan = ledger.plan_document(dataset, NO_PLATFORM, &input.name, length, &hash, |_| true);
    let reading = match plan {
        Plan::Unchanged => return Ok(hand(Piece::Unchanged(1))),
        Plan::Alias(alias) => return Ok(hand(Piece::Alias(alias, path))),
        Plan::Read(reading) => reading,
    };
    ledger.add(Source::being_read(&reading, length, hash.clone()));
    let source_id = reading.source_id;
    let document = Document {
        reading,
        input: input.clone(),
        bytes,
        content_hash: hash,
        compression: *compression,
    };
    Ok(hand(Piece::Work(path, Some(source_id), document)))
}

/// All bytes of a file; why not.
fn bytes(input: &Input, format: &dyn Documents, passed: &Passed) -> Result<Vec<u8>, String> {
    let opened = input
        .stream(passed)
        .map_err(|error| match Error::from(error) {
            Error::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        });
    let (stream, _) = opened?;
    let read = budget::read(stream, FILE_BYTES);
    let words = format!("of {}", format.described());
    read.map_err(|why| why.in_words(&words, FILE_BYTES))
}
