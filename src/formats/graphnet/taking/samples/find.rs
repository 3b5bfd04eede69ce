//! Where samples are: directories, archives and the hub's Parquet, file by file.
//!
//! A sample is in memory as a whole, so none may be larger than [`SAMPLE_BYTES`], nor may the files
//! of more lie between each other in a Parquet file than [`HELD_BYTES`].

use std::collections::{BTreeMap, HashMap, HashSet};

use tsql_formats::graphnet::sample::METADATA;
use tsql_formats::{Input, graphnet};

use super::hub;
use super::member::Member;
use crate::error::Result;
use crate::formats::budget;
use crate::formats::platform::NO_PLATFORM;
use crate::formats::taking::What;

/// Most bytes of the files of a sample; the largest of 314 real ones has 2 MB.
const SAMPLE_BYTES: u64 = 64 << 20;

/// Most bytes of samples whose files are not all there yet.
const HELD_BYTES: u64 = 128 << 20;

/// The directories that are samples, among these names of files.
fn directories<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<&'a str> {
    names
        .filter_map(|name| match name.rsplit_once('/') {
            Some((folder, METADATA)) => Some(folder),
            None if name == METADATA => Some(""),
            _ => None,
        })
        .collect()
}

/// The nearest of these directories that a file lies in.
fn nearest<'a>(directories: &HashSet<&str>, name: &'a str) -> Option<&'a str> {
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

/// Tells the files of samples from others.
pub(super) fn split(found: Vec<Input>) -> (Vec<What>, Vec<Input>) {
    let names: Vec<String> = found.iter().map(|input| input.name.clone()).collect();
    let known = directories(names.iter().map(String::as_str));
    let mut samples: BTreeMap<String, Vec<Input>> = BTreeMap::new();
    let mut others = Vec::new();
    for input in found {
        match nearest(&known, &input.name).map(str::to_owned) {
            Some(folder) if !input.explicit => samples.entry(folder).or_default().push(input),
            _ => others.push(input),
        }
    }
    let samples = samples.into_iter();
    let samples = samples.map(|(folder, files)| What::Folder(folder, files));
    (samples.collect(), others)
}

/// Is it a file of an export that belonged to no sample and had no records?
pub(super) fn is_loose(input: &Input) -> bool {
    let was = input.was(graphnet::NAME);
    was.is_some_and(|file| file.platform == NO_PLATFORM)
}

/// What is found in files, one after the other.
pub(super) enum Found {
    /// All files of a sample, whose directory this is.
    Sample(String, Vec<Member>),
    /// A file that is in no sample.
    Loose(Member),
    /// A file or a sample that is not taken.
    Refused { path: String, reason: String },
}

/// Takes what was found; `None` where nobody wants more.
type Take<'a> = dyn FnMut(Found) -> Option<()> + 'a;

/// Hands on all samples and other files of an input; `None` where nobody wants more. What came before
/// damage is handed on.
pub(super) fn each(what: &What, take: &mut Take<'_>) -> Result<Option<()>> {
    match what {
        What::Folder(folder, files) => {
            let mut left = SAMPLE_BYTES;
            let mut members = Vec::with_capacity(files.len());
            for file in files {
                let member = match read(file, left)? {
                    Ok(member) => member,
                    Err(refused) => return Ok(take(refused)),
                };
                left -= member.bytes.len() as u64;
                members.push(member);
            }
            Ok(take(Found::Sample(folder.clone(), members)))
        }
        What::File(input, _) if !is_loose(input) => {
            let opened = input.opened()?;
            let mut names = Vec::new();
            hub::rows(input, &opened, false, &mut |member| {
                names.push(member.name);
                Some(())
            })?;
            let mut gather = Gather::new(&names, take);
            hub::rows(input, &opened, true, &mut |member| gather.arrived(member))
        }
        What::File(input, _) | What::Loose(input) => {
            let member = read(input, SAMPLE_BYTES)?;
            Ok(take(member.map_or_else(|refused| refused, Found::Loose)))
        }
    }
}

/// A file, or why it, and the sample that it is of, is not taken.
fn read(input: &Input, most: u64) -> Result<std::result::Result<Member, Found>> {
    let opened = input.opened()?;
    let bytes = match budget::read(opened.bytes(), most) {
        Ok(bytes) => bytes,
        Err(why) => {
            let (path, reason) = (
                input.path.clone(),
                why.in_words("of a sample", SAMPLE_BYTES),
            );
            return Ok(Err(Found::Refused { path, reason }));
        }
    };
    let was = input.was(graphnet::NAME);
    let hub_path = was.and_then(|file| file.hub_path.as_ref());
    Ok(Ok(Member {
        name: input.name.clone(),
        path: hub_path.unwrap_or(&input.path).clone(),
        untold: opened.untold(bytes.len() as u64),
        bytes,
        source_folder: was.and_then(|file| file.collection.clone()),
    }))
}

/// Holds the files of samples back until they are all there.
struct Gather<'a, 't> {
    directories: HashSet<&'a str>,
    /// Files of each sample that are still to come.
    missing: HashMap<String, usize>,
    held: HashMap<String, Vec<Member>>,
    held_bytes: u64,
    /// Samples that are not taken.
    refused: HashSet<String>,
    take: &'a mut Take<'t>,
}

impl<'a, 't> Gather<'a, 't> {
    fn new(names: &'a [String], take: &'a mut Take<'t>) -> Self {
        let directories = directories(names.iter().map(String::as_str));
        let mut missing: HashMap<String, usize> = HashMap::new();
        for folder in names.iter().filter_map(|name| nearest(&directories, name)) {
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

    fn arrived(&mut self, member: Member) -> Option<()> {
        let Some(folder) = nearest(&self.directories, &member.name).map(str::to_owned) else {
            return (self.take)(Found::Loose(member));
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
            let reason = budget::Failure::TooLarge.in_words("of a sample", SAMPLE_BYTES);
            return self.refuse(folder, path, reason);
        }
        if Some(&held.len()) < self.missing.get(&folder) {
            if self.held_bytes > HELD_BYTES {
                let most = HELD_BYTES >> 20;
                let reason = format!(
                    "the files of too many samples lie between each other: at most {most} MiB are held\n\
                     hint: sort its rows by their paths"
                );
                return self.refuse(folder, path, reason);
            }
            return Some(());
        }
        let members = self.release(&folder);
        (self.take)(Found::Sample(folder, members))
    }

    fn release(&mut self, folder: &str) -> Vec<Member> {
        let members = self.held.remove(folder).unwrap_or_default();
        let bytes = members.iter().map(|member| member.bytes.len() as u64);
        self.held_bytes -= bytes.sum::<u64>();
        members
    }

    /// Takes nothing of a sample, because of a file of it.
    fn refuse(&mut self, folder: String, path: String, reason: String) -> Option<()> {
        self.release(&folder);
        self.refused.insert(folder);
        (self.take)(Found::Refused { path, reason })
    }
}
