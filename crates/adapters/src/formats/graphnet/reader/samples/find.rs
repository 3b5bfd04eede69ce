//! Finds samples in directories, archives and the hub's Parquet files.
//!
//! A sample is held in memory as a whole, so none may exceed [`SAMPLE_BYTES`]. Incomplete samples of a
//! Parquet file with interleaved rows may not exceed [`HELD_BYTES`] together.

use std::collections::{BTreeMap, HashMap, HashSet};

use tsql_error::Result;
use tsql_formats::graphnet::sample::METADATA;
use tsql_formats::{Input, graphnet};

use super::hub;
use super::member::Member;
use crate::formats::budget;
use crate::formats::format_reader::InputFiles;
use crate::formats::platform::NO_PLATFORM;

/// Maximum total size of the files of a sample in bytes. The largest of 314 real samples has 2 MB.
const SAMPLE_BYTES: u64 = 64 << 20;

/// Maximum total size of incomplete samples in bytes.
const HELD_BYTES: u64 = 128 << 20;

/// Directories among these file names that are samples.
fn sample_directories<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<&'a str> {
    names
        .filter_map(|name| match name.rsplit_once('/') {
            Some((folder, METADATA)) => Some(folder),
            None if name == METADATA => Some(""),
            _ => None,
        })
        .collect()
}

/// Innermost of these directories that contains a file.
fn nearest_directory<'a>(directories: &HashSet<&str>, name: &'a str) -> Option<&'a str> {
    let mut folder = name;
    loop {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        if directories.contains(folder) {
            return Some(folder);
        }
        if folder.is_empty() {
            return None;
        }
    }
}

/// Separates files of samples from other files.
pub(super) fn split_samples(found: Vec<Input>) -> (Vec<InputFiles>, Vec<Input>) {
    let names: Vec<String> = found.iter().map(|input| input.name.clone()).collect();
    let known = sample_directories(names.iter().map(String::as_str));
    let mut samples: BTreeMap<String, Vec<Input>> = BTreeMap::new();
    let mut others = Vec::new();
    for input in found {
        match nearest_directory(&known, &input.name).map(str::to_owned) {
            Some(folder) if !input.explicit => samples.entry(folder).or_default().push(input),
            _ => others.push(input),
        }
    }
    let samples = samples.into_iter();
    let samples = samples.map(|(folder, files)| InputFiles::Folder(folder, files));
    (samples.collect(), others)
}

/// Returns whether this exported file belonged to no sample and had no records.
pub(super) fn is_loose(input: &Input) -> bool {
    let was = input.exported_as(graphnet::NAME);
    was.is_some_and(|file| file.platform == NO_PLATFORM)
}

/// An item found in the input files.
pub(super) enum FindEvent {
    /// All files of a sample, and its directory.
    Sample(String, Vec<Member>),
    /// A file outside of samples.
    Loose(Member),
    /// A file or sample that is rejected.
    Refused { path: String, reason: String },
}

/// Receives found items. Returns `None` to stop.
type EventSink<'a> = dyn FnMut(FindEvent) -> Option<()> + 'a;

/// Passes all samples and other files of an input to `take`. Returns `None` if the receiver stopped. Items
/// before damage are passed on.
pub(super) fn find_all(what: &InputFiles, take: &mut EventSink<'_>) -> Result<Option<()>> {
    match what {
        InputFiles::Folder(folder, files) => {
            let mut left = SAMPLE_BYTES;
            let mut members = Vec::with_capacity(files.len());
            for file in files {
                let member = match read_member(file, left)? {
                    Ok(member) => member,
                    Err(refused) => return Ok(take(refused)),
                };
                left -= member.bytes.len() as u64;
                members.push(member);
            }
            Ok(take(FindEvent::Sample(folder.clone(), members)))
        }
        InputFiles::File(input, _) if !is_loose(input) => {
            let opened = input.open_file()?;
            let mut names = Vec::new();
            hub::read_rows(input, &opened, false, &mut |member| {
                names.push(member.name);
                Some(())
            })?;
            let mut gather = SampleAssembler::new(&names, take);
            hub::read_rows(input, &opened, true, &mut |member| {
                gather.add_member(member)
            })
        }
        InputFiles::File(input, _) | InputFiles::Loose(input) => {
            let member = read_member(input, SAMPLE_BYTES)?;
            Ok(take(
                member.map_or_else(|refused| refused, FindEvent::Loose),
            ))
        }
    }
}

/// Reads a file. Returns the rejection if it, and thereby its sample, is rejected.
fn read_member(input: &Input, most: u64) -> Result<std::result::Result<Member, FindEvent>> {
    let opened = input.open_file()?;
    let bytes = match budget::read_limited(opened.reader(), most) {
        Ok(bytes) => bytes,
        Err(why) => {
            let (path, reason) = (
                input.path.clone(),
                why.describe("of a sample", SAMPLE_BYTES),
            );
            return Ok(Err(FindEvent::Refused { path, reason }));
        }
    };
    let was = input.exported_as(graphnet::NAME);
    let hub_path = was.and_then(|file| file.hub_path.as_ref());
    Ok(Ok(Member {
        name: input.name.clone(),
        path: hub_path.unwrap_or(&input.path).clone(),
        untold: opened.uncounted_bytes(bytes.len() as u64),
        bytes,
        source_folder: was.and_then(|file| file.collection.clone()),
    }))
}

/// Collects the files of samples until each sample is complete.
struct SampleAssembler<'a, 't> {
    directories: HashSet<&'a str>,
    /// Number of missing files of each sample.
    missing: HashMap<String, usize>,
    held: HashMap<String, Vec<Member>>,
    held_bytes: u64,
    /// Rejected samples.
    refused: HashSet<String>,
    take: &'a mut EventSink<'t>,
}

impl<'a, 't> SampleAssembler<'a, 't> {
    fn new(names: &'a [String], take: &'a mut EventSink<'t>) -> Self {
        let directories = sample_directories(names.iter().map(String::as_str));
        let mut missing: HashMap<String, usize> = HashMap::new();
        for folder in names
            .iter()
            .filter_map(|name| nearest_directory(&directories, name))
        {
            *missing.entry(folder.to_owned()).or_default() += 1;
        }
        Self {
            directories,
            missing,
            held: HashMap::new(),
            held_bytes: 0,
            refused: HashSet::new(),
            take,
        }
    }

    fn add_member(&mut self, member: Member) -> Option<()> {
        let Some(folder) = nearest_directory(&self.directories, &member.name).map(str::to_owned)
        else {
            return (self.take)(FindEvent::Loose(member));
        };
        if self.refused.contains(&folder) {
            return Some(());
        }
        self.held_bytes += member.bytes.len() as u64;
        let path = member.path.clone();
        let held = self.held.entry(folder.clone()).or_default();
        held.push(member);
        let bytes = held.iter().map(|member| member.bytes.len() as u64);
        if bytes.sum::<u64>() > SAMPLE_BYTES {
            let reason = budget::ReadLimitError::TooLarge.describe("of a sample", SAMPLE_BYTES);
            return self.reject(folder, path, reason);
        }
        if Some(&held.len()) < self.missing.get(&folder) {
            if self.held_bytes > HELD_BYTES {
                let most = HELD_BYTES >> 20;
                let reason = format!(
                    "the files of many samples are mixed, and at most {most} MiB of incomplete \
                     samples are held\nhint: sort the rows by path"
                );
                return self.reject(folder, path, reason);
            }
            return Some(());
        }
        let members = self.take_members(&folder);
        (self.take)(FindEvent::Sample(folder, members))
    }

    fn take_members(&mut self, folder: &str) -> Vec<Member> {
        let members = self.held.remove(folder).unwrap_or_default();
        let bytes = members.iter().map(|member| member.bytes.len() as u64);
        self.held_bytes -= bytes.sum::<u64>();
        members
    }

    /// Rejects a sample because of one of its files.
    fn reject(&mut self, folder: String, path: String, reason: String) -> Option<()> {
        self.take_members(&folder);
        self.refused.insert(folder);
        (self.take)(FindEvent::Refused { path, reason })
    }
}
