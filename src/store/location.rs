//! Where a store lies: a directory, or memory.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutPayload};
use url::Url;

use super::synced::Synced;
use crate::error::{Error, Result};

/// The place of a store, and how to read and write there.
///
/// - On a local disk every write is on the disk before it is reported.
#[derive(Clone, Debug)]
pub struct Location {
    given: String,
    url: Url,
    root: Arc<dyn ObjectStore>,
    objects: Arc<dyn ObjectStore>,
    directory: Option<PathBuf>,
}

impl Location {
    /// Understands a directory's path, a `file://` URL, or `memory:` (gone with the process).
    ///
    /// # Errors
    /// [`Error::Usage`] for any other scheme or a path that cannot be a URL.
    pub fn parse(given: &str) -> Result<Self> {
        if given == "memory:" {
            return Self::memory();
        }
        if let Some((scheme, _)) = given.split_once("://")
            && scheme != "file"
        {
            return Err(Error::Usage(format!(
                "`{given}`: stores on `{scheme}` are not supported, expected a directory, `file://` or `memory:`"
            )));
        }
        let directory = match Url::parse(given) {
            Ok(url) if url.scheme() == "file" => url
                .to_file_path()
                .map_err(|()| Error::Usage(format!("`{given}` is no local directory")))?,
            _ => PathBuf::from(given),
        };
        Self::directory(given, &directory)
    }

    fn memory() -> Result<Self> {
        let url =
            Url::parse("memory:///store/").map_err(|error| Error::Usage(error.to_string()))?;
        let root: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let objects = Arc::new(PrefixStore::new(Arc::clone(&root), "store"));
        Ok(Self {
            given: "memory:".to_owned(),
            url,
            root,
            objects,
            directory: None,
        })
    }

    fn directory(given: &str, directory: &FilePath) -> Result<Self> {
        let absolute = resolved(directory)?;
        let url = Url::from_directory_path(&absolute)
            .map_err(|()| Error::Usage(format!("`{given}` is no directory that a URL can name")))?;
        let root: Arc<dyn ObjectStore> = Arc::new(Synced::new(LocalFileSystem::new()));
        let prefix = Path::from_absolute_path(&absolute)
            .map_err(|error| Error::Usage(format!("`{given}`: {error}")))?;
        let objects = Arc::new(PrefixStore::new(Arc::clone(&root), prefix));
        Ok(Self {
            given: given.to_owned(),
            url,
            root,
            objects,
            directory: Some(absolute),
        })
    }

    /// As it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// The directory on a local disk.
    #[must_use]
    pub fn local_directory(&self) -> Option<&FilePath> {
        self.directory.as_deref()
    }

    /// The objects of the store, by their path in it.
    pub(crate) fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// The object store that the URL of a table is resolved in.
    pub(super) fn root(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.root)
    }

    /// URL of a table's folder.
    pub(super) fn table_url(&self, table: &str) -> Result<Url> {
        self.url
            .join(&format!("{table}/"))
            .map_err(|error| Error::Usage(error.to_string()))
    }

    /// The whole object, `None` where there is none.
    pub(super) async fn read(&self, path: &str) -> Result<Option<bytes::Bytes>> {
        match self.objects.get(&Path::from(path)).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(Error::Storage)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::Storage(error)),
        }
    }

    /// Writes a new object; false where there is one already.
    pub(super) async fn create(&self, path: &str, bytes: Vec<u8>) -> Result<bool> {
        let payload = PutPayload::from(bytes);
        match self
            .objects
            .put_opts(&Path::from(path), payload, PutMode::Create.into())
            .await
        {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(Error::Storage(error)),
        }
    }
}

/// The absolute path without `..` and links, as far as it exists.
fn resolved(directory: &FilePath) -> Result<PathBuf> {
    let absolute = std::path::absolute(directory).map_err(Error::io(directory))?;
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return Ok(missing
                .iter()
                .rev()
                .fold(found, |path, part| path.join(part)));
        }
        match (existing.file_name(), existing.parent()) {
            (Some(part), Some(parent)) => {
                missing.push(part);
                existing = parent;
            }
            _ => return Ok(absolute),
        }
    }
}
