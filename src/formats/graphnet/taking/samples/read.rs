//! Samples, and files that belong to none, on their way to a parser.

use std::collections::HashMap;

use tsql_codecs::identity::{core_hash, sample_id};
use tsql_formats::Format as _;
use tsql_formats::graphnet::sample::{self, File, Taken};
use tsql_formats::graphnet::{NAME, Samples};

use super::find::{self, Found};
use super::member::Member;
use crate::error::Result;
use crate::formats::platform::NO_PLATFORM;
use crate::formats::taking::{Hand, Piece, What};
use crate::ledger::{Ledger, Plan, Reading, Source};

/// A sample that the store does not have, or a file that belongs to none.
pub(crate) enum Work {
    Sample(Sample),
    Loose(Loose),
}

/// What was read of either.
pub(crate) enum Read {
    Sample(Sample, Taken),
    Loose(Loose),
}

/// The files of a sample.
pub(crate) struct Sample {
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
}

/// What a file that belongs to no sample is called.
const LOOSE: &str = "a file of no sample";

/// A file that belongs to no sample.
pub(crate) struct Loose {
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) source_folder: Option<String>,
    pub(super) file: File,
}

pub(super) fn parse(work: Work) -> Read {
    match work {
        Work::Sample(sample) => {
            let taken = sample::read(&sample.files);
            Read::Sample(sample, taken)
        }
        Work::Loose(loose) => Read::Loose(loose),
    }
}

/// Looks at samples in order.
pub(super) struct Reader<'a, 'h> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) hand: &'a mut Hand<'h, Work>,
}

impl Reader<'_, '_> {
    /// Hands on all of an input; `None` where nobody wants more.
    pub(super) fn read(&mut self, what: &What) -> Result<Option<()>> {
        find::each(what, &mut |found| match found {
            Found::Sample(folder, members) => self.sample(&folder, members),
            Found::Loose(member) => self.loose(member),
            Found::Refused { path, reason } => (self.hand)(Piece::Failed(path, reason)),
        })
    }

    fn sample(&mut self, folder: &str, members: Vec<Member>) -> Option<()> {
        let shown = members.first().map(|member| {
            let name = member.name.strip_prefix(folder).unwrap_or(&member.name);
            let shown = member.path.strip_suffix(name).unwrap_or(&member.path);
            shown.trim_end_matches('/').to_owned()
        });
        let untold = members.iter().map(|member| member.untold).sum();
        (self.hand)(Piece::Taken(Samples.described()))?;
        (self.hand)(Piece::Bytes(untold))?;
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
            return (self.hand)(Piece::Unchanged(files.len() as u64));
        };
        self.ledger.add_sample(&path, sample_id(&path, &files_hash));
        let work = Sample {
            shown: shown.unwrap_or_else(|| path.clone()),
            renamed: path != folder,
            path,
            files_hash,
            files,
            origins,
        };
        (self.hand)(Piece::Work(work.shown.clone(), None, Work::Sample(work)))
    }

    fn loose(&mut self, member: Member) -> Option<()> {
        let bytes = member.bytes.len() as u64;
        (self.hand)(Piece::Taken(LOOSE))?;
        (self.hand)(Piece::Bytes(member.untold))?;
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
            Plan::Unchanged => return (self.hand)(Piece::Unchanged(1)),
            Plan::Alias(alias) => return (self.hand)(Piece::Alias(alias, member.path)),
            Plan::Read(reading) => reading,
        };
        let hash = file.content_hash.clone();
        self.ledger.add(Source::being_read(&reading, bytes, hash));
        let loose = Loose {
            reading,
            path: member.path.clone(),
            source_folder: member.source_folder,
            file,
        };
        (self.hand)(Piece::Work(member.path, None, Work::Loose(loose)))
    }
}
