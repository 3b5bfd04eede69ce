//! Where samples are: directories, archives and the hub's Parquet, file by file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File as Opened;
use std::io::Read as _;

use arrow::array::{Array as _, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::NO_PLATFORM;
use crate::error::{Error, Result};
use crate::reader::graphnet::sample::METADATA;
use crate::reader::naming::readable_path;
use crate::reader::{self, Input, graphnet};

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

/// Does a tar hold samples?
pub(in crate::ingest) fn in_tar(input: &Input) -> bool {
    let mut found = false;
    let _ = each_name(input, |name| {
        found = name == METADATA || name.ends_with(&format!("/{METADATA}"));
        found || name.ends_with(".npz")
    });
    found
}

/// Hears of the name of every file in a tar until `enough`.
fn each_name(input: &Input, mut enough: impl FnMut(&str) -> bool) -> Result<()> {
    let broken = |error: std::io::Error| Error::Source {
        location: input.path.clone(),
        reason: error.to_string(),
    };
    let (stream, _) = reader::open(&input.file)?;
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
}

/// Hands on all samples and other files of a place; `None` where nobody listens any more. What
/// came before damage is handed on.
pub(super) fn each(place: &Place, take: &mut dyn FnMut(Piece) -> Option<()>) -> Result<Option<()>> {
    match place {
        Place::Directory(folder, files) => {
            let members: Result<Vec<Member>> = files.iter().map(read).collect();
            Ok(take(Piece::Sample(folder.clone(), members?)))
        }
        Place::Loose(input) => Ok(take(Piece::Loose(read(input)?))),
        Place::Tar(input) => {
            let mut names = Vec::new();
            // Damage shows again below, after what came before it.
            let _ = each_name(input, |name| {
                names.push(name.to_owned());
                false
            });
            let mut gather = Gather::new(&names, take);
            tar_members(input, &mut |member| gather.member(member))
        }
        Place::Parquet(input) => {
            let mut names = Vec::new();
            parquet_rows(input, false, &mut |member| {
                names.push(member.name);
                Some(())
            })?;
            let mut gather = Gather::new(&names, take);
            parquet_rows(input, true, &mut |member| gather.member(member))
        }
    }
}

fn read(input: &Input) -> Result<Member> {
    let bytes = std::fs::read(&input.file).map_err(Error::io(&input.file))?;
    let was = input.was(graphnet::NAME);
    let hub_path = was.and_then(|file| file.hub_path.as_ref());
    Ok(Member {
        name: input.name.clone(),
        path: hub_path.unwrap_or(&input.path).clone(),
        bytes,
        source_folder: was.and_then(|file| file.collection.clone()),
    })
}

fn tar_members(input: &Input, take: &mut dyn FnMut(Member) -> Option<()>) -> Result<Option<()>> {
    let broken = |error: std::io::Error| Error::Source {
        location: input.path.clone(),
        reason: error.to_string(),
    };
    let (stream, _) = reader::open(&input.file)?;
    for entry in tar::Archive::new(stream).entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = readable_path(&entry.path().map_err(broken)?);
        let name = name.trim_start_matches("./").to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(broken)?;
        let path = format!("{}/{name}", input.path);
        let member = Member {
            name,
            path,
            bytes,
            source_folder: None,
        };
        if take(member).is_none() {
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
    take: &mut dyn FnMut(Member) -> Option<()>,
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
            if take(member).is_none() {
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
            take,
        }
    }

    fn member(&mut self, member: Member) -> Option<()> {
        let Some(folder) = nearest(&self.directories, &member.name).map(str::to_owned) else {
            return (self.take)(Piece::Loose(member));
        };
        let held = self.held.entry(folder.clone()).or_default();
        held.push(member);
        if Some(&held.len()) < self.missing.get(&folder) {
            return Some(());
        }
        let members = self.held.remove(&folder).unwrap_or_default();
        (self.take)(Piece::Sample(folder, members))
    }
}
