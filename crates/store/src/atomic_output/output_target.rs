//! Output target: a folder or a bucket without other files.
//!
//! During the output there is a marker file and no checksum list; the list is written last. So an interrupted output is
//! never taken for a complete one, and can be restarted.

use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use sha2::{Digest as _, Sha256};

use super::check_outside::check_outside;
use super::checksums::{self, Entry};
use crate::Location;
use tsql_error::{Error, Result};

/// Marker file of an unfinished output.
const MARK: &str = ".tsql-publishing";

/// Type of the output.
#[derive(Clone, Copy, Debug)]
pub struct OutputKind {
    /// Name in messages: `publication`.
    pub name: &'static str,
    /// The command that writes it.
    pub command: &'static str,
    /// Returns whether a file name belongs to this output, besides the checksum list.
    pub has: fn(&str) -> bool,
}

/// A file that was written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Path below the target.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// SHA-256 of the contents, in hexadecimal digits.
    pub sha256: String,
}

/// Target of the output.
pub struct OutputTarget {
    location: Location,
    kind: OutputKind,
    /// Unique id of this run.
    run: String,
    /// Files of an earlier output.
    before: Vec<String>,
}

impl OutputTarget {
    /// Examines the target, without writing.
    ///
    /// # Errors
    /// [`Error::Source`] within a store, [`Error::CannotCreate`] if the target has other files, or an earlier output
    /// without `overwrite`.
    pub async fn open(to: &str, overwrite: bool, kind: OutputKind) -> Result<Self> {
        let location = Location::open(to).await?;
        let taken = |reason: String| Error::CannotCreate {
            location: to.to_owned(),
            reason,
        };
        if to == "memory:" {
            let reason =
                "exists only in this process\nhint: write to a directory or s3://BUCKET/PREFIX";
            return Err(taken(reason.to_owned()));
        }
        if let Some(directory) = location.local_directory() {
            if directory.is_file() {
                return Err(taken("is a file, expected a directory".to_owned()));
            }
            check_outside(directory)?;
        }
        let before: Vec<String> = list_files(&location)
            .await?
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        let run = uuid::Uuid::new_v4().simple().to_string();
        if !before.is_empty() {
            let broken_off = location.read(MARK).await?.is_some();
            let own = match location.read(checksums::NAME).await? {
                _ if broken_off => None,
                Some(text) => checksums::parse(&text).ok(),
                None => return Err(taken(foreign_files_message(&before[..], kind))),
            };
            let is_own = |path: &String| match &own {
                Some(own) => path == checksums::NAME || own.iter().any(|entry| &entry.path == path),
                None => broken_off && (path == checksums::NAME || (kind.has)(path)),
            };
            let others: Vec<String> = before
                .iter()
                .filter(|path| !is_own(path))
                .cloned()
                .collect();
            if !others.is_empty() {
                return Err(taken(foreign_files_message(&others, kind)));
            }
            if !broken_off && !overwrite {
                let name = kind.name;
                return Err(taken(format!(
                    "already contains a {name}\nhint: --overwrite replaces it"
                )));
            }
        }
        Ok(Self {
            location,
            kind,
            run,
            before,
        })
    }

    /// Returns the last component of its path.
    pub fn name(&self) -> String {
        let directory = self.location.local_directory();
        let name = directory.and_then(|directory| directory.file_name());
        let url = || {
            self.location
                .as_str()
                .trim_end_matches('/')
                .rsplit('/')
                .next()
        };
        name.map_or_else(
            || url().unwrap_or_default().to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Marks the output as unfinished.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be written to.
    pub async fn begin(&self) -> Result<()> {
        let mark = format!(
            "{}\n`{}` writes here, or was broken off: run it again\n",
            self.run, self.kind.command
        );
        self.location
            .write(&Path::from(MARK), mark.into_bytes())
            .await?;
        self.delete(checksums::NAME).await
    }

    /// Writes a file of `rows` rows.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub async fn write(&self, path: String, bytes: Vec<u8>, rows: u64) -> Result<WrittenFile> {
        let sha256 = checksums::hex(&Sha256::digest(&bytes));
        let size = bytes.len() as u64;
        self.location
            .write(&Path::from(path.as_str()), bytes)
            .await?;
        Ok(WrittenFile {
            path,
            bytes: size,
            rows,
            sha256,
        })
    }

    /// Deletes files of an earlier output that are not part of this one, and writes the checksum list. Returns its
    /// size.
    ///
    /// # Errors
    /// [`Error::CannotCreate`] if another run has started meanwhile; [`Error::Storage`].
    pub async fn finish(&self, files: &[WrittenFile]) -> Result<u64> {
        for path in &self.before {
            if path != checksums::NAME && !files.iter().any(|file| &file.path == path) {
                self.delete(path).await?;
            }
        }
        let mark = self.location.read(MARK).await?;
        if !mark.is_some_and(|mark| mark.starts_with(self.run.as_bytes())) {
            return Err(Error::CannotCreate {
                location: self.location.as_str().to_owned(),
                reason: format!(
                    "is being written by another `{}`\n\
                     hint: run the command again when the other one has ended",
                    self.kind.command
                ),
            });
        }
        let entries = files.iter().map(|file| Entry {
            path: file.path.clone(),
            sha256: file.sha256.clone(),
        });
        let list = checksums::format_list(entries.collect()).into_bytes();
        let bytes = list.len() as u64;
        self.location
            .write(&Path::from(checksums::NAME), list)
            .await?;
        self.delete(MARK).await?;
        Ok(bytes)
    }

    async fn delete(&self, path: &str) -> Result<()> {
        match self.location.objects().delete(&Path::from(path)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::Storage(error)),
        }
    }
}

/// Returns whether there is an unfinished output.
pub async fn is_unfinished(location: &Location) -> Result<bool> {
    Ok(location.read(MARK).await?.is_some())
}

/// Lists all files with their sizes, by path, except hidden ones (`.git`, `.gitattributes`).
pub async fn list_files(location: &Location) -> Result<Vec<(String, u64)>> {
    let objects: Vec<_> = location
        .objects()
        .list(None)
        .try_collect()
        .await
        .map_err(Error::Storage)?;
    let paths = objects
        .into_iter()
        .map(|object| (object.location.to_string(), object.size));
    let mut paths: Vec<(String, u64)> = paths
        .filter(|(path, _)| !path.split('/').any(|part| part.starts_with('.')))
        .collect();
    paths.sort();
    Ok(paths)
}

fn foreign_files_message(files: &[String], kind: OutputKind) -> String {
    let more = files.len().saturating_sub(3);
    let some: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let some = some.join(", ");
    format!(
        "contains files that do not belong to a {} of tsql: {some}{more}\n\
         hint: write to an empty or new directory",
        kind.name
    )
}
