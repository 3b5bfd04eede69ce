//! Temporary files of `COPY`, and their delivery to the target.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use object_store::{ObjectStore, ObjectStoreExt as _, WriteMultipart};
use tsql_folders::{OutputFile, Scratch, folder_of};
use url::Url;

use tsql_error::Error;
use tsql_store::atomic_output::check_outside;

/// Number of parts of an object that are uploaded concurrently.
const CONCURRENT_PARTS: usize = 4;

/// Name of the file or folder that a writer produces.
pub(super) const OUTPUT: &str = "output";

/// Size of a part of an object, in bytes.
const PART_BYTES: usize = 16 << 20;

/// A temporary file or folder, and the target to which it is delivered.
pub(super) struct Staging {
    scratch: Option<Scratch>,
    target: Target,
}

enum Target {
    File(OutputFile),
    /// A device or a pipe, which is written after the last row.
    Device(File, PathBuf),
    Folder(PathBuf),
    Objects(ListingTableUrl, Arc<dyn ObjectStore>),
}

impl Staging {
    pub(super) fn open(target: &str, is_single: bool, context: &TaskContext) -> Result<Self> {
        if let Some(path) = local_path(target)? {
            check_outside(&path).map_err(external_error)?;
            return match is_single {
                true => Self::for_file(target, &path),
                false => Self::for_directory(target, &path),
            };
        }
        let url = ListingTableUrl::parse(target)?;
        let objects = context.runtime_env().object_store(&url)?;
        Ok(Self {
            scratch: Some(Scratch::new().map_err(external_error)?),
            target: Target::Objects(url, objects),
        })
    }

    fn for_file(target: &str, path: &Path) -> Result<Self> {
        if !folder_of(path).is_dir() {
            return Err(invalid_target(target, "the folder does not exist"));
        }
        if path.is_dir() {
            return Err(invalid_target(target, "it is a folder, expected a file"));
        }
        let (output, file) = OutputFile::create(path).map_err(external_error)?;
        Ok(match output.staged_path().is_some() {
            true => Self {
                scratch: None,
                target: Target::File(output),
            },
            false => Self {
                scratch: Some(Scratch::new().map_err(external_error)?),
                target: Target::Device(file, path.to_owned()),
            },
        })
    }

    fn for_directory(target: &str, path: &Path) -> Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(invalid_target(target, "it is a file, expected a folder"));
            }
            Err(error) => return Err(external_error(Error::io(&path)(error))),
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(invalid_target(
                        target,
                        "the folder has files, expected an empty or missing folder",
                    ));
                }
            }
        }
        if !folder_of(&path).is_dir() {
            return Err(invalid_target(target, "the folder does not exist"));
        }
        Ok(Self {
            scratch: Some(Scratch::new_in(folder_of(&path)).map_err(external_error)?),
            target: Target::Folder(path),
        })
    }

    /// The folder that contains [`OUTPUT`].
    pub(super) fn folder(&self) -> &Path {
        let staged = match &self.target {
            Target::File(output) => output.staged_path().map(folder_of),
            _ => self.scratch.as_ref().map(Scratch::path),
        };
        staged.unwrap_or(Path::new("."))
    }

    /// Delivers the output to its target.
    pub(super) async fn deliver(self) -> Result<()> {
        let staged = self.folder().join(OUTPUT);
        match self.target {
            Target::File(output) => output.finish().map_err(external_error),
            Target::Device(mut file, path) => {
                let sent = File::open(staged).and_then(|mut from| io::copy(&mut from, &mut file));
                let sent = sent.map_err(Error::io(path));
                sent.map(|_| ()).map_err(external_error)
            }
            Target::Folder(path) => {
                // Without rows the writer has not created a file.
                fs::create_dir_all(&staged)
                    .and_then(|()| match fs::metadata(&path) {
                        Ok(empty) => fs::set_permissions(&staged, empty.permissions()),
                        Err(_) => Ok(()),
                    })
                    .and_then(|()| fs::rename(&staged, &path))
                    .map_err(|error| external_error(Error::io(&path)(error)))
            }
            Target::Objects(url, objects) => {
                let prefix = url.prefix();
                for (file, below) in files_below(&staged).map_err(|error| {
                    let place = Error::io(&staged)(error);
                    external_error(place)
                })? {
                    let object = match below.is_empty() {
                        true => prefix.clone(),
                        false => {
                            let parts = below.iter().map(String::as_str);
                            let path = prefix.parts().map(|part| part.as_ref().to_owned());
                            let path: Vec<String> = path.chain(parts.map(str::to_owned)).collect();
                            object_store::path::Path::parse(path.join("/"))
                                .map_err(|error| DataFusionError::External(error.into()))?
                        }
                    };
                    upload(&file, objects.as_ref(), &object).await?;
                }
                Ok(())
            }
        }
    }
}

/// Path of a target on this machine; `None` for a remote one.
fn local_path(target: &str) -> Result<Option<PathBuf>> {
    if target.starts_with("file://") {
        let path = Url::parse(target)
            .ok()
            .and_then(|url| url.to_file_path().ok());
        let path = path.ok_or_else(|| invalid_target(target, "it is not a local path"))?;
        return Ok(Some(path));
    }
    Ok((!target.contains("://")).then(|| PathBuf::from(target)))
}

/// Files of a file or folder, each with the path components that lead to it.
fn files_below(path: &Path) -> io::Result<Vec<(PathBuf, Vec<String>)>> {
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), Vec::new())]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = files_below(&entry.path())?.into_iter();
        files.extend(below.map(|(file, mut names)| {
            names.insert(0, name.clone());
            (file, names)
        }));
    }
    Ok(files)
}

/// Uploads a file. The object appears after the last part.
async fn upload(
    path: &Path,
    objects: &dyn ObjectStore,
    object: &object_store::path::Path,
) -> Result<()> {
    let unread = |error| external_error(Error::io(path)(error));
    let mut file = File::open(path).map_err(unread)?;
    let mut part = |most: usize| {
        let mut bytes = Vec::new();
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        file.by_ref()
            .take(most)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    };
    let first = part(PART_BYTES).map_err(unread)?;
    if first.len() < PART_BYTES {
        objects.put(object, first.into()).await?;
        return Ok(());
    }
    let upload = objects.put_multipart(object).await?;
    let mut parts = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
    let mut bytes = first;
    while !bytes.is_empty() {
        parts.wait_for_capacity(CONCURRENT_PARTS).await?;
        parts.put(bytes.into());
        bytes = part(PART_BYTES).map_err(unread)?;
    }
    parts.finish().await?;
    Ok(())
}

pub(super) fn external_error(error: impl Into<Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

pub(super) fn invalid_target(target: &str, reason: &str) -> DataFusionError {
    external_error(Error::Source {
        location: target.to_owned(),
        reason: reason.to_owned(),
    })
}
