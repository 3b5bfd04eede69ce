//! Where samples are: directories, archives and the hub's Parquet, file by file.
//!
//! A sample is in memory as a whole, so none may be larger than [`SAMPLE_BYTES`], nor may the files
//! of more lie between each other in an archive than [`HELD_BYTES`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File as Opened;
use std::io::Read;

use arrow::array::{Array as _, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tsql_formats::graphnet::sample::METADATA;
use tsql_formats::{Input, Passed, graphnet, open_counted};

use crate::error::{Error, Result};
use crate::formats::platform::NO_PLATFORM;
use crate::formats::taking::What;
use crate::formats::{archive, budget};

/// Most bytes of the files of a sample; the largest of 314 real ones has 2 MB.
const SAMPLE_BYTES: u64 = 64 << 20;

/// Most bytes of samples whose files are not all there yet.
const HELD_BYTES: u64 = 128 << 20;

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

/// Has a Parquet file the columns of the hub's?
pub(super) fn is_hub(input: &Input) -> bool {
    let opened = Opened::open(&input.file).ok();
    let builder = opened.and_then(|file| ParquetRecordBatchReaderBuilder::try_new(file).ok());
    builder.is_some_and(|builder| {
        let known = |name: &&str| builder.schema().field_with_name(name).is_ok();
        ["path", "content"].iter().all(known)
    })
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
/// damage is handed on. `passed` says how much was read of an archive.
pub(super) fn each(what: &What, passed: &Passed, take: &mut Take<'_>) -> Result<Option<()>> {
    match what {
        What::Folder(folder, files) => {
            let mut left = SAMPLE_BYTES;
            let mut members = Vec::with_capacity(files.len());
            for file in files {
                let member = read(file, left)?;
                left -= member.bytes.len() as u64;
                members.push(member);
            }
            Ok(take(Found::Sample(folder.clone(), members)))
        }
        What::File(input, _) if is_loose(input) => {
            Ok(take(Found::Loose(read(input, SAMPLE_BYTES)?)))
        }
        What::File(input, _) => {
            let mut names = Vec::new();
            parquet_rows(input, false, &mut |member| {
                names.extend(member.map(|member| member.name).ok());
                Some(())
            })?;
            let mut gather = Gather::new(&names, take);
            parquet_rows(input, true, &mut |member| gather.arrived(member))
        }
        What::Archive(input, names) => {
            let mut gather = Gather::new(names, take);
            let (stream, _) = open_counted(&input.file, passed)?;
            archive::each(input, tar::Archive::new(stream), |name, entry| {
                Ok(gather.arrived(member(input, name, entry)?))
            })
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

/// A file of a tar.
fn member(input: &Input, name: String, mut entry: tar::Entry<'_, impl Read>) -> Result<Arrived> {
    let path = format!("{}/{name}", input.path);
    let size = entry.size();
    let reason = match budget::read(&mut entry, SAMPLE_BYTES) {
        Err(why @ budget::Failure::TooLarge) => why.in_words("of a sample", SAMPLE_BYTES),
        Err(budget::Failure::Io(error)) => return Err(archive::broken(input)(error)),
        Ok(bytes) if (bytes.len() as u64) < size => {
            format!("the archive ends after {} of its {size} bytes", bytes.len())
        }
        Ok(bytes) => {
            return Ok(Ok(Member {
                name,
                path,
                bytes,
                source_folder: None,
            }));
        }
    };
    Ok(Err(Refused { name, path, reason }))
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

    fn arrived(&mut self, arrived: Arrived) -> Option<()> {
        let member = match arrived {
            Ok(member) => member,
            Err(Refused { name, path, reason }) => {
                let folder = nearest(&self.directories, &name);
                return self.refuse(folder.map(str::to_owned), path, reason);
            }
        };
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
        (self.take)(Found::Sample(folder, members))
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
        (self.take)(Found::Refused { path, reason })
    }
}
