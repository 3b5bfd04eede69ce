//! The way in: each file is read as a whole.

use tsql_codecs::identity::{ContentHasher, text_id};
use tsql_formats::tenset::networks::{self, Content, NAME, Network, NetworkInfo};
use tsql_formats::{Compression, Documents, Format as _, Input, Opened};

use super::group::Gathered;
use super::parsed::Read;
use crate::error::{Error, Result};
use crate::formats::budget;
use crate::formats::platform::NO_PLATFORM;
use crate::formats::taking::{Admission, Admitting, Given, Hand, Piece, Taking, What};
use crate::ledger::{About, Closed, Ledger, Plan, Reading, Source};

/// Most bytes of a file, after decompression. That of a network has a megabyte; `all_tasks.pkl` has the tasks of all.
const FILE_BYTES: u64 = 1 << 30;

/// The room of its files.
#[derive(Clone, Copy)]
pub(in crate::formats) struct Files;

/// A file that was read and not parsed.
pub(crate) struct Work {
    reading: Reading,
    path: String,
    bytes: Vec<u8>,
    content_hash: String,
    compression: Option<Compression>,
}

impl Admitting for Files {
    fn formats(&self) -> &'static [&'static dyn Documents] {
        &[&NetworkInfo]
    }

    fn recalls(&self, input: &Input) -> bool {
        input.was(NAME).is_some()
    }

    fn admit(&self, _: &Input, _: Option<Opened>, _: Option<&str>) -> Result<Admission> {
        Ok(Admission::Taken(None))
    }
}

impl Taking for Files {
    type Work = Work;
    type Read = Read;
    type Group = Gathered;

    const DATASET: &'static str = NAME;
    const TABLES: &'static [&'static str] = &["network_tasks", "relays"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Work>,
    ) -> Result<Option<()>> {
        let What::File(input, compression) = &given.what else {
            return Ok(Some(()));
        };
        let path = input.path.clone();
        if hand(Piece::Taken(NetworkInfo.described())).is_none() {
            return Ok(None);
        }
        let bytes = match read(input) {
            Ok(bytes) => bytes,
            Err(reason) => return Ok(hand(Piece::Failed(path, reason))),
        };
        let length = bytes.len() as u64;
        if hand(Piece::Bytes(length)).is_none() {
            return Ok(None);
        }
        let mut hasher = ContentHasher::new();
        hasher.update(&bytes);
        let hash = hasher.hex();
        let plan = ledger.plan_document(NAME, NO_PLATFORM, &input.name, length, &hash, |_| true);
        let reading = match plan {
            Plan::Unchanged => return Ok(hand(Piece::Unchanged(1))),
            Plan::Alias(alias) => return Ok(hand(Piece::Alias(alias, path))),
            Plan::Read(reading) => reading,
        };
        ledger.add(Source::being_read(&reading, length, hash.clone()));
        let source_id = reading.source_id;
        let work = Work {
            reading,
            path: path.clone(),
            bytes,
            content_hash: hash,
            compression: *compression,
        };
        Ok(hand(Piece::Work(path, Some(source_id), work)))
    }

    fn parse(work: Work) -> Result<Read, String> {
        let Work { bytes, reading, .. } = work;
        let content = networks::read(&bytes).map_err(|error| error.to_string())?;
        let network = Network::of(&reading.name);
        let (length, hash) = (bytes.len() as u64, work.content_hash);
        let mut closed = Closed::whole(NAME, reading, work.path, length, hash);
        let text_id = text_id(&bytes);
        closed.compression = work.compression.map(Compression::name);
        closed.line_count = match &content {
            Content::Network(tasks) | Content::AllTasks(tasks) => tasks.len() as u64,
            Content::Relay(_) => 1,
        };
        closed.about = About {
            network: network.as_ref().map(|network| network.name.clone()),
            text_id: Some(text_id),
            ..About::default()
        };
        Ok(Read {
            network,
            content,
            text_id,
            bytes,
            closed,
        })
    }
}

/// All bytes of a file; why not.
fn read(input: &Input) -> Result<Vec<u8>, String> {
    let opened = tsql_formats::open(&input.file).map_err(|error| match Error::from(error) {
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    });
    let (stream, _) = opened?;
    let read = budget::read(stream, FILE_BYTES);
    read.map_err(|why| why.in_words("of a file of network_info", FILE_BYTES))
}
