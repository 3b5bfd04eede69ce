//! What is known of a file before it is opened.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use tsql_codecs::identity::ContentHasher;

use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::naming;
use crate::opened::{Opened, Stream};
use crate::passed::Passed;

/// Standard input, as it is named on the command line.
pub const STDIN: &str = "-";

/// A file to be ingested.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it is read from: the archive, if it is in one.
    pub file: PathBuf,
    /// How it was named: the argument, and below a directory the path in it.
    pub path: String,
    /// The name that it gets in the store: from the last part of the argument on.
    pub name: String,
    /// The name of the directory that it was found in, where that may give its platform: of a file
    /// that was named itself, and of one in a directory without a name of its own, none does.
    pub directory: Option<String>,
    /// It was named itself or matched a pattern, not found in a directory or archive.
    pub explicit: bool,
    /// What it was in the store that it was exported from.
    pub exported: Option<Arc<ExportedFile>>,
    /// It is open, so as not to be opened twice, or because it cannot be.
    pub opened: Option<Opened>,
}

impl Input {
    /// A file of the file system, found in a directory or not at all.
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

    /// Standard input, or a pipe, all of which was read. Without a name of its own its name is the hash of its
    /// content: two streams are two sources, the same one is the same.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of_pipe(
        opened: Opened,
        file: PathBuf,
        path: &str,
        name: Option<String>,
    ) -> Result<Self> {
        let hashed = || {
            let (stream, _) = opened.stream(&Passed::default())?;
            ContentHasher::of_stream(stream).map(|(_, hash)| format!("stdin/{hash}.json"))
        };
        let name = name.map_or_else(hashed, Ok).map_err(Error::io(path))?;
        Ok(Self {
            explicit: true,
            opened: Some(opened),
            ..Self::new(file, path.to_owned(), name)
        })
    }

    /// The file: as it was opened before, or else opened now.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn opened(&self) -> Result<Opened> {
        match &self.opened {
            Some(opened) => Ok(opened.clone()),
            None => Opened::of(&self.file),
        }
    }

    /// Its bytes after decompression; `passed` says how many, as they lie on the disk, were read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn stream(&self, passed: &Passed) -> Result<(Stream, Option<Compression>)> {
        let opened = self.opened()?;
        opened.stream(passed).map_err(Error::io(&self.file))
    }

    /// Its bytes on the disk; 0 where nobody can tell.
    pub fn size(&self) -> u64 {
        match &self.opened {
            Some(opened) => opened.size().unwrap_or(0),
            None => std::fs::metadata(&self.file).map_or(0, |meta| meta.len()),
        }
    }

    /// Is it in an archive?
    pub fn is_packed(&self) -> bool {
        self.opened.as_ref().is_some_and(Opened::is_part)
    }

    /// Where it lies on the disk, and in its archive.
    pub fn place(&self) -> String {
        let file = self.file.to_string_lossy();
        if self.is_packed() {
            format!("{file}/{}", self.name)
        } else {
            file.into_owned()
        }
    }

    /// The folder that it lies in: on disk, or in the archive or bucket that it came from.
    pub fn folder(&self) -> Folder {
        let on_disk = self.file.parent().map(naming::readable_path);
        let (above, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let has_own_name = !self.is_packed()
            && self.file.file_name().map(naming::readable).as_deref() == Some(file);
        let path = on_disk.filter(|_| has_own_name);
        let path = path.unwrap_or_else(|| above.to_owned());
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let hash = ContentHasher::of(path.as_bytes());
        Folder { name, hash }
    }

    /// What it was in the store that it was exported from, if it was of this dataset.
    pub fn was(&self, dataset: &str) -> Option<&ExportedFile> {
        let exported = self.exported.as_deref();
        exported.filter(|file| file.dataset == dataset)
    }
}

/// A file of an export, as the ledger has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportedFile {
    /// Where it lies below the export's root; spelled as names in the store are.
    pub path: String,
    /// Its name in the store.
    pub name: String,
    /// Its dataset.
    pub dataset: String,
    /// Its platform.
    pub platform: String,
    /// TpuGraphs: its collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// TpuGraphs: its split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// GraphNet: how a row of the hub's Parquet named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_path: Option<String>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}
