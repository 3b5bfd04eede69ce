//! Where samples are: directories, archives and the hub's Parquet, file by file.
//!
//! A sample is in memory as a whole, so none may be larger than [`SAMPLE_BYTES`], nor may the files
//! of more lie between each other in an archive than [`HELD_BYTES`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File as Opened;

use arrow::array::{Array as _, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tsql_formats::graphnet::sample::METADATA;
use tsql_formats::naming::readable_path;
use tsql_formats::{Input, graphnet};

use super::super::budget;
use super::NO_PLATFORM;
use crate::error::{Error, Result};

/// Most bytes of the files of a sample; the largest of 314 real ones has 2 MB.
const SAMPLE_BYTES: u64 = 64 << 20;

/// Most bytes of samples whose files are not all there yet.
const HELD_BYTES: u64 = 128 << 20;

/// Something to read samples from.
#[derive(Clone, Debug)]
pub(in crate::ingest) enum Place {
    /// The files of one sample in a directory: its name in the store, and its files.
    Directory(String, Vec<Input>),
    Tar(Input),
    /// Rows `(path, content, source_folder)`.
    Parquet(Input),
    /// A file that was exported, and belonged to no sample.
    Loose(Input),
}

/// A file's text on its way in.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its name in the store.
    pub(super) name: String,
    /// How it is named to people.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) source_folder: Option<String>,
}

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
pub(in crate::ingest) fn split(found: Vec<Input>) -> (Vec<Place>, Vec<Input>) {
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
    let samples = samples.map(|(folder, files)| Place::Directory(folder, files));
    (samples.collect(), others)
}

/// Is it a file of an export that belonged to no sample and had no records?
pub(in crate::ingest) fn is_loose(input: &Input) -> bool {
    let was = input.was(graphnet::NAME);
    was.is_some_and(|file| file.platform == NO_PLATFORM)
}

/// What a tar holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Inside {
    Samples,
    Arrays,
    /// Neither: maybe logs.
    Others,
}

/// Tells what a tar holds by the names of its files; a damaged one by those before the damage.
pub(in crate::ingest) fn in_tar(input: &Input) -> Inside {
    let mut inside = Inside::Others;
    let _ = each_name(input, |name| {
        if name == METADATA || name.ends_with(&format!("/{METADATA}")) {
            inside = Inside::Samples;
        } else if name.ends_with(".npz") {
            inside = Inside::Arrays;
        }
        inside != Inside::Others
    });
    inside
}

/// Has a Parquet file the columns of the hub's?
pub(in crate::ingest) fn is_hub(input: &Input) -> bool {
    let opened = Opened::open(&input.file).ok();
    let builder = opened.and_then(|file| ParquetRecordBatchReaderBuilder::try_new(file).ok());
    builder.is_some_and(|builder| {
        let known = |name: &&str| builder.schema().field_with_name(name).is_ok();
        ["path", "content"].iter().all(known)
    })
}

/// Hears of the name of every file in a tar until `enough`.
fn each_name(input: &Input, mut enough: impl FnMut(&str) -> bool) -> Result<()> {
    let broken = |error: std::io::Error| Error::Source {
        location: input.path.clone(),
        reason: error.to_string(),
    };
    let (stream, _) = tsql_formats::open(&input.file)?;
    for entry in tar::Archive::new(stream).entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if entry.header().entry_type().is_file() {
            let name = readable_path(&entry.path().map_err(broken)?);
            if enough(name.trim_start_matches("./")) {
                break;
            }
        }
    }
    Ok(())
}

/// What the members of a place become, one after the other.
pub(super) enum Piece {
    /// All files of a sample, whose directory this is.
    Sample(String, Vec<Member>),
    /// A file that is in no sample.
    Loose(Member),
    /// A file or a sample that is not taken.
    Refused { path: String, reason: String },
}

/// Hands on all samples and other files of a place; `None` where nobody listens any more. What
/// came before damage is handed on.
pub(super) fn each(place: &Place, take: &mut dyn FnMut(Piece) -> Option<()>) -> Result<Option<()>> {
    match place {
        Place::Directory(folder, files) => {
            let mut left = SAMPLE_BYTES;
            let mut members = Vec::with_capacity(files.len());
            for file in files {
                let member = read(file, left)?;
                left -= member.bytes.len() as u64;
                members.push(member);
            }
            Ok(take(Piece::Sample(folder.clone(), members)))
        }
        Place::Loose(input) => Ok(take(Piece::Loose(read(input, SAMPLE_BYTES)?))),
        Place::Tar(input) => {
            let mut names = Vec::new();
            // Damage shows again below, after what came before it.
            let _ = each_name(input, |name| {
                names.push(name.to_owned());
                false
            });
            let mut gather = Gather::new(&names, take);
            tar_members(input, &mut |member| gather.arrived(member))
        }
        Place::Parquet(input) => {
            let mut names = Vec::new();
            parquet_rows(input, false, &mut |member| {
                names.extend(member.map(|member| member.name).ok());
                Some(())
            })?;
            let mut gather = Gather::new(&names, take);
            parquet_rows(input, true, &mut |member| gather.arrived(member))
        }
    }
}

fn read(input: &Input, most: u64) -> Result<Member> {
    let file = Opened::open(&input.file).map_err(Error::io(&input.file))?;
    let bytes = budget::read(file, most).map_err(|why| Error::Source {
        location: input.path.clone(),
        reason: why.in_words("of a sample", SAMPLE_BYTES),
    })?;
    let was = input.was(graphnet::NAME);
    let hub_path = was.and_then(|file| file.hub_path.as_ref());
    Ok(Member {
        name: input.name.clone(),
        path: hub_path.unwrap_or(&input.path).clone(),
        bytes,
        source_folder: was.and_then(|file| file.collection.clone()),
    })
}

/// A file that is not taken.
struct Refused {
    /// Its name in the store.
    name: String,
    /// How it is named to people.
    path: String,
    reason: String,
}

/// A file, or why it is not taken.
type Arrived = Result<Member, Refused>;

fn tar_members(input: &Input, take: &mut dyn FnMut(Arrived) -> Option<()>) -> Result<Option<()>> {
    let broken = |error: std::io::Error| Error::Source {
        location: input.path.clone(),
        reason: error.to_string(),
    };
    let (stream, _) = tsql_formats::open(&input.file)?;
    for entry in tar::Archive::new(stream).entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = readable_path(&entry.path().map_err(broken)?);
        let name = name.trim_start_matches("./").to_owned();
        let path = format!("{}/{name}", input.path);
        let size = entry.size();
        let bytes = match budget::read(&mut entry, SAMPLE_BYTES) {
            Err(why @ budget::Failure::TooLarge) => Err(why.in_words("of a sample", SAMPLE_BYTES)),
            Err(budget::Failure::Io(error)) => return Err(broken(error)),
            Ok(bytes) if (bytes.len() as u64) < size => Err(format!(
                "the archive ends after {} of its {size} bytes",
                bytes.len()
            )),
            Ok(bytes) => Ok(bytes),
        };
        let arrived = match bytes {
            Err(reason) => Err(Refused { name, path, reason }),
            Ok(bytes) => Ok(Member {
                name,
                path,
                bytes,
                source_folder: None,
            }),
        };
        if take(arrived).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// The columns of the hub's Parquet.
const COLUMNS: [&str; 3] = ["path", "content", "source_folder"];

fn parquet_rows(
    input: &Input,
    content: bool,
    take: &mut dyn FnMut(Arrived) -> Option<()>,
) -> Result<Option<()>> {
    let broken = |reason: String| Error::Source {
        location: input.path.clone(),
        reason,
    };
    let file = Opened::open(&input.file).map_err(Error::io(&input.file))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| broken(error.to_string()))?;
    let wanted = COLUMNS.iter().filter(|name| content || **name != "content");
    let known = builder
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().as_str());
    let known: HashSet<&str> = known.collect();
    let missing = wanted
        .clone()
        .find(|name| !known.contains(**name) && **name != "source_folder");
    if let Some(missing) = missing {
        return Err(broken(format!(
            "no column `{missing}`\nhint: of Parquet files, those of GraphNet's hub are taken: path, content, source_folder"
        )));
    }
    let mask = parquet::arrow::ProjectionMask::columns(builder.parquet_schema(), wanted.copied());
    let rows = builder
        .with_projection(mask)
        .with_batch_size(64)
        .build()
        .map_err(|error| broken(error.to_string()))?;
    for batch in rows {
        let batch = batch.map_err(|error| broken(error.to_string()))?;
        let text = |name: &str| -> Result<Option<StringViewArray>> {
            let Some(column) = batch.column_by_name(name) else {
                return Ok(None);
            };
            let cast =
                cast(column, &DataType::Utf8View).map_err(|error| broken(error.to_string()))?;
            Ok(cast.as_any().downcast_ref().cloned())
        };
        let (paths, contents, folders) = (text("path")?, text("content")?, text("source_folder")?);
        let Some(paths) = paths else { continue };
        for row in 0..batch.num_rows() {
            let at = |column: &Option<StringViewArray>| {
                let column = column.as_ref().filter(|column| column.is_valid(row));
                column.map(|column| column.value(row).to_owned())
            };
            let path = paths.value(row).to_owned();
            let source_folder = at(&folders);
            let name = match &source_folder {
                Some(folder) if !folder.is_empty() && !path.starts_with(&format!("{folder}/")) => {
                    format!("{folder}/{path}")
                }
                _ => path.clone(),
            };
            let member = Member {
                name,
                path,
                bytes: at(&contents).unwrap_or_default().into_bytes(),
                source_folder: Some(source_folder.unwrap_or_default()),
            };
            if take(Ok(member)).is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(()))
}

/// Holds the files of samples back until they are all there.
struct Gather<'a> {
    directories: HashSet<&'a str>,
    /// Files of each sample that are still to come.
    missing: HashMap<String, usize>,
    held: HashMap<String, Vec<Member>>,
    held_bytes: u64,
    /// Samples that are not taken.
    refused: HashSet<String>,
    take: &'a mut dyn FnMut(Piece) -> Option<()>,
}

impl<'a> Gather<'a> {
    fn new(names: &'a [String], take: &'a mut dyn FnMut(Piece) -> Option<()>) -> Self {
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

    fn arrived(&mut self, arrived: Arrived) -> Option<()> {
        let member = match arrived {
            Ok(member) => member,
            Err(Refused { name, path, reason }) => {
                let folder = nearest(&self.directories, &name);
                return self.refuse(folder.map(str::to_owned), path, reason);
            }
        };
        let Some(folder) = nearest(&self.directories, &member.name).map(str::to_owned) else {
            return (self.take)(Piece::Loose(member));
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
            return self.refuse(Some(folder), path, reason);
        }
        if Some(&held.len()) < self.missing.get(&folder) {
            if self.held_bytes > HELD_BYTES {
                let most = HELD_BYTES >> 20;
                let reason = format!(
                    "the files of too many samples lie between each other: at most {most} MiB are held\n\
                     hint: unpack the archive, and ingest the folder"
                );
                return self.refuse(Some(folder), path, reason);
            }
            return Some(());
        }
        let members = self.release(&folder);
        (self.take)(Piece::Sample(folder, members))
    }

    fn release(&mut self, folder: &str) -> Vec<Member> {
        let members = self.held.remove(folder).unwrap_or_default();
        let bytes = members.iter().map(|member| member.bytes.len() as u64);
        self.held_bytes -= bytes.sum::<u64>();
        members
    }

    /// Takes nothing of a sample, because of a file of it.
    fn refuse(&mut self, folder: Option<String>, path: String, reason: String) -> Option<()> {
        if let Some(folder) = folder {
            self.release(&folder);
            self.refused.insert(folder);
        }
        (self.take)(Piece::Refused { path, reason })
    }
}
