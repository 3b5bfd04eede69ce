//! Description of a file before it is opened.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use tsql_codecs::identity::ContentHasher;

use crate::byte_counter::ByteCounter;
use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::file_handle::{FileHandle, Stream};
use crate::folder::Folder;
use crate::naming;

/// Name of standard input on the command line.
pub const STDIN: &str = "-";

/// File to ingest.
#[derive(Clone, Debug)]
pub struct Input {
    /// Path to read from; for a member, the path of its archive.
    pub file: PathBuf,
    /// Name given by the user: the argument, and below a directory the path relative to it.
    pub path: String,
    /// Name in the store. It starts with the last component of the argument.
    pub name: String,
    /// Name of the containing directory, which may be the platform. `None` for files that are arguments themselves, and
    /// for files in a directory without a name of its own.
    pub directory: Option<String>,
    /// Whether the file is an argument or matched a pattern, and was not found in a directory or archive.
    pub explicit: bool,
    /// Metadata of the file in the store from which it was exported.
    pub exported: Option<Arc<ExportedFile>>,
    /// Open file. Set to avoid a second open, or because a second open is impossible.
    pub opened: Option<FileHandle>,
}

impl Input {
    /// Creates an input for a file of the file system.
    pub fn new(file: PathBuf, path: String, name: String) -> Self {
        Self {
            file,
            path,
            name,
            directory: None,
            explicit: false,
            exported: None,
            opened: None,
        }
    }

    /// Creates an input for standard input or a pipe that was read completely. Without a name, it is named after the
    /// hash of its content. So equal streams are the same source and different streams are different sources.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn from_pipe(
        handle: FileHandle,
        file: PathBuf,
        path: &str,
        name: Option<String>,
    ) -> Result<Self> {
        let hash_name = || {
            let (stream, _) = handle.stream(&ByteCounter::default())?;
            ContentHasher::hash_stream(stream).map(|(_, hash)| format!("stdin/{hash}.json"))
        };
        let name = name.map_or_else(hash_name, Ok).map_err(Error::io(path))?;
        Ok(Self {
            explicit: true,
            opened: Some(handle),
            ..Self::new(file, path.to_owned(), name)
        })
    }

    /// Returns the open file, or opens it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open_file(&self) -> Result<FileHandle> {
        match &self.opened {
            Some(handle) => Ok(handle.clone()),
            None => FileHandle::open(&self.file),
        }
    }

    /// Returns the decompressed bytes. `counter` counts the compressed bytes read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn stream(&self, counter: &ByteCounter) -> Result<(Stream, Option<Compression>)> {
        let handle = self.open_file()?;
        handle.stream(counter).map_err(Error::io(&self.file))
    }

    /// Size on disk in bytes; 0 if unknown.
    pub fn size(&self) -> u64 {
        match &self.opened {
            Some(handle) => handle.size().unwrap_or(0),
            None => std::fs::metadata(&self.file).map_or(0, |meta| meta.len()),
        }
    }

    /// Whether it is a member of an archive.
    pub fn is_in_archive(&self) -> bool {
        self.opened.as_ref().is_some_and(FileHandle::is_section)
    }

    /// Path on disk, and inside of its archive.
    pub fn location(&self) -> String {
        let file = self.file.to_string_lossy();
        if self.is_in_archive() {
            format!("{file}/{}", self.name)
        } else {
            file.into_owned()
        }
    }

    /// Folder that contains the file: on disk, or in the archive or bucket that it came from.
    pub fn folder(&self) -> Folder {
        let on_disk = self.file.parent().map(naming::path_to_text);
        let (folder_path, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let has_disk_name = !self.is_in_archive()
            && self.file.file_name().map(naming::part_to_text).as_deref() == Some(file);
        let path = on_disk.filter(|_| has_disk_name);
        let path = path.unwrap_or_else(|| folder_path.to_owned());
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let hash = ContentHasher::hash_bytes(path.as_bytes());
        Folder { name, hash }
    }

    /// Metadata of the file in the store from which it was exported, if it was of this dataset.
    pub fn exported_as(&self, dataset: &str) -> Option<&ExportedFile> {
        let exported = self.exported.as_deref();
        exported.filter(|file| file.dataset == dataset)
    }
}

/// Entry of the export manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportedFile {
    /// Path below the root of the export, in the encoding of names in the store.
    pub path: String,
    /// Name in the store.
    pub name: String,
    /// Dataset.
    pub dataset: String,
    /// Platform.
    pub platform: String,
    /// TpuGraphs: collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// TpuGraphs: split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// GraphNet: path in the row of the hub's Parquet file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_path: Option<String>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}
