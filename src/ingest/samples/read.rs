//! Samples and benchmark logs to rows: one thread looks at all of them in order, the others parse.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use tokio::sync::mpsc;
use tsql_codecs::identity::{core_hash, sample_id};
use tsql_formats::graphnet::NAME;
use tsql_formats::graphnet::sample::{self, File, Taken};

use super::super::ledger::{Alias, Ledger, Plan, Reading, Source, UNCOMMITTED};
use super::super::workers::{Numbered, Ordered, caught, workers};
use super::super::{Event, Progress};
use super::find::{self, Member, Piece, Place};

/// Platform of files that have no records.
pub(in crate::ingest) const NO_PLATFORM: &str = "none";

/// What became of a sample or a file, in order.
pub(super) enum Message {
    Sample(Box<Found>),
    /// A file in an archive that belongs to no sample.
    Loose(Box<Loose>),
    /// The store has all these files already.
    Unchanged(u64),
    /// The store has the bytes of a loose file under another name.
    Alias {
        alias: Box<Alias>,
        path: String,
    },
    Failed {
        path: String,
        reason: String,
    },
}

/// A sample that the store does not have.
pub(super) struct Found {
    /// Its directory in the store.
    pub(super) path: String,
    /// How it is named to people.
    pub(super) shown: String,
    /// The store has another sample in the directory that it was given in.
    pub(super) renamed: bool,
    pub(super) files_hash: String,
    pub(super) files: Vec<File>,
    /// For each file how it was named, and the hub's folder.
    pub(super) origins: Vec<(String, Option<String>)>,
    pub(super) taken: Taken,
}

pub(super) struct Loose {
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) source_folder: Option<String>,
    pub(super) file: File,
}

struct Work {
    path: String,
    shown: String,
    renamed: bool,
    files_hash: String,
    files: Vec<File>,
    origins: Vec<(String, Option<String>)>,
}

/// Starts reading `places` with `parsers` parsing threads. Dropping the result, or setting `stop`,
/// ends the threads.
pub(super) fn start(
    places: Vec<Place>,
    ledger: Ledger,
    parsers: usize,
    progress: Progress,
    stop: Arc<AtomicBool>,
) -> Ordered<Message> {
    let (work, results, messages) = workers(parsers, 2, 4, parse);
    std::thread::spawn(move || {
        let mut reader = Reader {
            ledger,
            work,
            results,
            number: 0,
            progress,
            stop,
        };
        for place in places {
            let listened = caught(|| reader.place(&place));
            let failed = |reason| {
                let path = shown(&place);
                reader.send(Message::Failed { path, reason })
            };
            if listened.unwrap_or_else(failed).is_none() {
                break;
            }
        }
    });
    messages
}

fn parse(work: Work) -> Message {
    match caught(|| sample::read(&work.files)) {
        Ok(taken) => Message::Sample(Box::new(Found {
            path: work.path,
            shown: work.shown,
            renamed: work.renamed,
            files_hash: work.files_hash,
            files: work.files,
            origins: work.origins,
            taken,
        })),
        Err(reason) => Message::Failed {
            path: work.shown,
            reason,
        },
    }
}

struct Reader {
    ledger: Ledger,
    work: SyncSender<Numbered<Work>>,
    results: mpsc::Sender<Numbered<Message>>,
    number: u64,
    progress: Progress,
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Hands on all of a place; `None` where nobody listens any more.
    fn place(&mut self, place: &Place) -> Option<()> {
        let shown = shown(place);
        (self.progress.clone())(Event::File(&shown));
        let taken = find::each(place, &mut |piece| match piece {
            _ if self.stop.load(Ordering::Relaxed) => None,
            Piece::Sample(folder, members) => self.sample(&folder, members),
            Piece::Loose(member) => self.loose(member),
            Piece::Refused { path, reason } => self.send(Message::Failed { path, reason }),
        });
        match taken {
            Ok(listened) => listened,
            Err(error) => self.send(Message::Failed {
                path: shown,
                reason: error.to_string(),
            }),
        }
    }

    fn sample(&mut self, folder: &str, members: Vec<Member>) -> Option<()> {
        let shown = members.first().map(|member| {
            let name = member.name.strip_prefix(folder).unwrap_or(&member.name);
            let shown = member.path.strip_suffix(name).unwrap_or(&member.path);
            shown.trim_end_matches('/').to_owned()
        });
        let bytes = members.iter().map(|member| member.bytes.len() as u64).sum();
        (self.progress)(Event::Bytes(bytes));
        let (mut files, mut origins) = (Vec::new(), Vec::new());
        let mut hashes: HashMap<String, String> = HashMap::new();
        for member in members {
            let name = match member.name.strip_prefix(folder) {
                Some(rest) => rest.trim_start_matches('/').to_owned(),
                None => member.name,
            };
            let file = File::new(name, member.bytes);
            // An archive may hold a file twice: the later one counts, as when it is unpacked.
            let again = hashes
                .insert(file.name.clone(), file.content_hash.clone())
                .is_some();
            if again && let Some(place) = files.iter().position(|old: &File| old.name == file.name)
            {
                files.remove(place);
                origins.remove(place);
            }
            files.push(file);
            origins.push((member.path, member.source_folder));
        }
        let mut parts: Vec<(&str, &str)> = files
            .iter()
            .map(|file| (file.name.as_str(), file.content_hash.as_str()))
            .collect();
        parts.sort_unstable();
        let parts: Vec<&[u8]> = parts
            .iter()
            .flat_map(|(name, hash)| [name.as_bytes(), hash.as_bytes()])
            .collect();
        let files_hash = core_hash(&parts);
        let path = self.ledger.plan_sample(folder, &files_hash);
        let Some(path) = path else {
            return self.send(Message::Unchanged(files.len() as u64));
        };
        self.ledger.add_sample(&path, sample_id(&path, &files_hash));
        let work = Work {
            shown: shown.unwrap_or_else(|| path.clone()),
            renamed: path != folder,
            path,
            files_hash,
            files,
            origins,
        };
        let number = self.number;
        self.number += 1;
        self.work.send((number, work)).ok()
    }

    fn loose(&mut self, member: Member) -> Option<()> {
        let bytes = member.bytes.len() as u64;
        (self.progress)(Event::Bytes(bytes));
        let file = File::new(member.name.clone(), member.bytes);
        let plan = self.ledger.plan_document(
            NAME,
            NO_PLATFORM,
            &member.name,
            bytes,
            &file.content_hash,
            |source| source.sample_id.is_none(),
        );
        let reading = match plan {
            Plan::Unchanged => return self.send(Message::Unchanged(1)),
            Plan::Alias(alias) => {
                let path = member.path;
                return self.send(Message::Alias { alias, path });
            }
            Plan::Read(reading) => reading,
        };
        self.ledger.add(Source {
            source_id: reading.source_id,
            platform: reading.platform.clone(),
            name: reading.name.clone(),
            segments: UNCOMMITTED,
            end_byte: bytes,
            last_line: 0,
            open_line: None,
            content_hash: file.content_hash.clone(),
            crlf: None,
            same_as: None,
            collection: None,
            split: None,
            sample_id: None,
            arrays: None,
        });
        self.send(Message::Loose(Box::new(Loose {
            reading,
            path: member.path,
            source_folder: member.source_folder,
            file,
        })))
    }

    fn send(&mut self, message: Message) -> Option<()> {
        let number = self.number;
        self.number += 1;
        self.results.blocking_send((number, message)).ok()
    }
}

/// How a place is named to people.
fn shown(place: &Place) -> String {
    match place {
        Place::Directory(_, files) => {
            let first = files.first().map(|file| file.path.as_str());
            folder_of(first.unwrap_or_default()).to_owned()
        }
        Place::Tar(input) | Place::Parquet(input) | Place::Loose(input) => input.path.clone(),
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(folder, _)| folder)
}
