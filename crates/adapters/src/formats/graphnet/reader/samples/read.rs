//! Reads samples, and files outside of samples.

use std::collections::HashMap;

use tsql_codecs::identity::{core_hash, sample_id};
use tsql_error::Result;
use tsql_formats::Format as _;
use tsql_formats::graphnet::sample::{self, ParsedSampleFiles, SampleFile};
use tsql_formats::graphnet::{NAME, Samples};

use super::find::{self, FindEvent};
use super::member::Member;
use crate::formats::format_reader::{InputFiles, ReadEvent, Sink};
use crate::formats::platform::NO_PLATFORM;
use crate::ingest_log::{FilePlan, IngestLog, ReadPlan, Source};

/// A sample that the store does not have, or a file outside of samples.
pub(crate) enum SampleWork {
    Sample(Sample),
    Loose(LooseFile),
}

/// A parsed sample, or a file outside of samples.
pub(crate) enum ParsedInput {
    Sample(Sample, ParsedSampleFiles),
    Loose(LooseFile),
}

/// The files of a sample.
pub(crate) struct Sample {
    /// Directory in the store.
    pub(super) path: String,
    /// Path for display.
    pub(super) shown: String,
    /// The store has another sample under the given directory name.
    pub(super) renamed: bool,
    pub(super) files_hash: String,
    pub(super) files: Vec<SampleFile>,
    /// Display path and hub folder of each file.
    pub(super) origins: Vec<(String, Option<String>)>,
}

/// Description of a file outside of samples.
const LOOSE_FILE_KIND: &str = "a loose GraphNet file";

/// A file outside of samples.
pub(crate) struct LooseFile {
    pub(super) reading: ReadPlan,
    pub(super) path: String,
    pub(super) source_folder: Option<String>,
    pub(super) file: SampleFile,
}

pub(crate) fn parse(work: SampleWork) -> ParsedInput {
    match work {
        SampleWork::Sample(sample) => {
            let taken = sample::read(&sample.files);
            ParsedInput::Sample(sample, taken)
        }
        SampleWork::Loose(loose) => ParsedInput::Loose(loose),
    }
}

/// Plans samples in order.
pub(super) struct Reader<'a, 'h> {
    pub(super) ledger: &'a mut IngestLog,
    pub(super) hand: &'a mut Sink<'h, SampleWork>,
}

impl Reader<'_, '_> {
    /// Passes all items of an input on. Returns `None` if the receiver stopped.
    pub(super) fn read(&mut self, what: &InputFiles) -> Result<Option<()>> {
        find::find_all(what, &mut |found| match found {
            FindEvent::Sample(folder, members) => self.read_sample(&folder, members),
            FindEvent::Loose(member) => self.read_loose_file(member),
            FindEvent::Refused { path, reason } => (self.hand)(ReadEvent::Failed(path, reason)),
        })
    }

    fn read_sample(&mut self, folder: &str, members: Vec<Member>) -> Option<()> {
        let shown = members.first().map(|member| {
            let name = member.name.strip_prefix(folder).unwrap_or(&member.name);
            let shown = member.path.strip_suffix(name).unwrap_or(&member.path);
            shown.trim_end_matches('/').to_owned()
        });
        let untold = members.iter().map(|member| member.untold).sum();
        (self.hand)(ReadEvent::Taken(Samples.description()))?;
        (self.hand)(ReadEvent::Bytes(untold))?;
        let (mut files, mut origins) = (Vec::new(), Vec::new());
        let mut hashes: HashMap<String, String> = HashMap::new();
        for member in members {
            let name = match member.name.strip_prefix(folder) {
                Some(rest) => rest.trim_start_matches('/').to_owned(),
                None => member.name,
            };
            let file = SampleFile::new(name, member.bytes);
            // An archive may contain a file twice. The later one wins, as when unpacking.
            let again = hashes
                .insert(file.name.clone(), file.content_hash.clone())
                .is_some();
            if again
                && let Some(place) = files
                    .iter()
                    .position(|old: &SampleFile| old.name == file.name)
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
            return (self.hand)(ReadEvent::Unchanged(files.len() as u64));
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
        (self.hand)(ReadEvent::Work(
            work.shown.clone(),
            None,
            SampleWork::Sample(work),
        ))
    }

    fn read_loose_file(&mut self, member: Member) -> Option<()> {
        let bytes = member.bytes.len() as u64;
        (self.hand)(ReadEvent::Taken(LOOSE_FILE_KIND))?;
        (self.hand)(ReadEvent::Bytes(member.untold))?;
        let file = SampleFile::new(member.name.clone(), member.bytes);
        let plan = self.ledger.plan_document(
            NAME,
            NO_PLATFORM,
            &member.name,
            bytes,
            &file.content_hash,
            |source| source.sample_id.is_none(),
        );
        let reading = match plan {
            FilePlan::Unchanged => return (self.hand)(ReadEvent::Unchanged(1)),
            FilePlan::Alias(alias) => return (self.hand)(ReadEvent::Alias(alias, member.path)),
            FilePlan::Read(reading) => reading,
        };
        let hash = file.content_hash.clone();
        self.ledger
            .add(Source::new_uncommitted(&reading, bytes, hash));
        let loose = LooseFile {
            reading,
            path: member.path.clone(),
            source_folder: member.source_folder,
            file,
        };
        (self.hand)(ReadEvent::Work(member.path, None, SampleWork::Loose(loose)))
    }
}
