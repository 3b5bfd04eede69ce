//! Location of a store: a directory, a bucket, a web server, or memory.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, WriteMultipart,
};
use url::Url;

use crate::io::deferred_creation::DeferredCreation;
use crate::io::durable_fs::{DurableFs, Watch};
use crate::io::remote::{ProbeResult, Remote, SCHEMES};
use crate::log_files::log_tail;
use tsql_error::{Error, Result};

/// Object size from which uploads to a bucket are in parts.
const PART_BYTES: usize = 16 << 20;

/// URL scheme of tables on a local disk. With `file`, log readers would open the URL's path themselves, with their own
/// escaping of names.
pub(crate) const LOCAL_SCHEME: &str = "disk";

/// Maximum number of parts that are uploaded at the same time.
const PARTS: usize = 4;

/// Location of a store, with access to its objects.
///
/// - On a local disk, every write is durable before it is reported.
/// - A bucket is written to only if it supports conditional writes. That is checked before the first write.
#[derive(Clone, Debug)]
pub struct Location {
    given: String,
    /// Prefix of table URLs. It names no folder, because URLs escape names differently from folders.
    base: Url,
    objects: Arc<dyn ObjectStore>,
    /// Path of the store on its disk, in its bucket or on its server.
    prefix: Path,
    directory: Option<(PathBuf, DurableFs)>,
    remote: Option<Arc<Remote>>,
    /// Set if the first write creates the store.
    deferred: Option<Arc<DeferredCreation>>,
}

impl Location {
    /// Parses a directory path, a `file://` URL, `s3://bucket/prefix`, `https://host/path` (read only), or `memory:`
    /// (gone with the process).
    ///
    /// The server and the credentials of a bucket come from `AWS_*` variables, profiles (`~/.aws/config`), and
    /// `tsql.toml`. Sends no requests yet.
    ///
    /// # Errors
    /// [`Error::InvalidLocation`] for any other scheme and for a path that cannot be a URL, [`Error::Setting`] for
    /// invalid settings.
    pub async fn open(location: &str) -> Result<Self> {
        if location == "memory:" {
            return Self::memory();
        }
        if let Some((scheme, _)) = location.split_once("://")
            && scheme != "file"
        {
            if SCHEMES.contains(&scheme) {
                return Self::open_remote(location).await;
            }
            return Err(Error::InvalidLocation(format!(
                "`{location}`: stores on `{scheme}` are not supported, expected a directory, `s3://`, `https://`, `file://` or `memory:`"
            )));
        }
        let directory = if location.starts_with("file://") {
            let wrong = || Error::InvalidLocation(format!("`{location}` is not a local directory"));
            let url = Url::parse(location).map_err(|_| wrong())?;
            if url.query().is_some() || url.fragment().is_some() {
                return Err(Error::InvalidLocation(format!(
                    "`{location}`: a URL of a directory has no `?` and no `#`, expected `%3F` and `%23`"
                )));
            }
            url.to_file_path().map_err(|()| wrong())?
        } else {
            PathBuf::from(location)
        };
        Self::open_directory(location, &directory, None)
    }

    /// Opens a directory whose disk operations a test observes.
    pub(crate) fn with_disk_watch(directory: &FilePath, watch: Watch) -> Result<Self> {
        let given = directory.to_string_lossy();
        Self::open_directory(&given, directory, Some(watch))
    }

    async fn open_remote(given: &str) -> Result<Self> {
        let wrong =
            |error: &dyn std::fmt::Display| Error::InvalidLocation(format!("`{given}`: {error}"));
        let mut url = Url::parse(given).map_err(|error| wrong(&error))?;
        if url.query().is_some() {
            let reason = "the URL of a store cannot have a query";
            return Err(wrong(&reason));
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        let prefix = Path::from_url_path(url.path()).map_err(|error| wrong(&error))?;
        let remote = Arc::new(Remote::open(&url).await?);
        let scheme = match url.scheme() {
            "s3" => "s3",
            _ => "web",
        };
        let base = Url::parse(&format!("{scheme}://{}/", url.authority()));
        let base = base.map_err(|error| wrong(&error))?;
        let root = Arc::clone(&remote) as Arc<dyn ObjectStore>;
        Ok(Self {
            remote: Some(remote),
            ..Self::with_prefix(given, base, root, prefix)
        })
    }

    fn memory() -> Result<Self> {
        Self::from_object_store(Arc::new(InMemory::new()))
    }

    /// Creates a location in an object store that a test provides.
    pub(crate) fn from_object_store(root: Arc<dyn ObjectStore>) -> Result<Self> {
        let base = Url::parse("memory:///").map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self::with_prefix(
            "memory:",
            base,
            root,
            Path::from("store"),
        ))
    }

    /// Creates a location below `prefix` of an object store.
    fn with_prefix(given: &str, base: Url, root: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            given: given.to_owned(),
            base,
            objects: Arc::new(PrefixStore::new(root, prefix.clone())),
            prefix,
            directory: None,
            remote: None,
            deferred: None,
        }
    }

    fn open_directory(given: &str, directory: &FilePath, watch: Option<Watch>) -> Result<Self> {
        let absolute = resolve_path(directory)?;
        let base = Url::parse(&format!("{LOCAL_SCHEME}:///"))
            .map_err(|error| Error::Internal(error.to_string()))?;
        let system = LocalFileSystem::new();
        let prefix = Path::from_absolute_path(&absolute).ok();
        // Reads must use the same path as writes, whatever the folder is called.
        let prefix = prefix.filter(|prefix| {
            let found = system.path_to_filesystem(&prefix.clone().join("x"));
            found.is_ok_and(|found| found == absolute.join("x"))
        });
        let prefix = prefix.ok_or_else(|| {
            Error::InvalidLocation(format!(
                "`{given}`: the path `{}` is not UTF-8 or has control characters, expected a folder of another name",
                absolute.display()
            ))
        })?;
        let disk = DurableFs::new(system, absolute.clone(), watch);
        let root = Arc::new(disk.clone());
        Ok(Self {
            directory: Some((absolute, disk)),
            ..Self::with_prefix(given, base, root, prefix)
        })
    }

    /// Lets the first write create the store: it writes `marker` before, and then calls `report`.
    pub(crate) fn with_deferred_creation(
        self,
        marker: Vec<u8>,
        report: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let deferred = DeferredCreation::new(Arc::clone(&self.objects), marker, report);
        let deferred = Arc::new(deferred);
        Self {
            objects: Arc::clone(&deferred) as Arc<dyn ObjectStore>,
            deferred: Some(deferred),
            ..self
        }
    }

    /// Creates the store, if its first write would.
    pub(crate) async fn ensure_created(&self) -> Result<()> {
        match &self.deferred {
            Some(deferred) => deferred.create().await.map_err(Error::Storage),
            None => Ok(()),
        }
    }

    /// Returns whether the store exists. It does not before the first write of a command that creates it.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.deferred
            .as_ref()
            .is_none_or(|deferred| deferred.is_created())
    }

    /// Returns the location as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// Returns the directory on a local disk.
    #[must_use]
    pub fn local_directory(&self) -> Option<&FilePath> {
        self.directory.as_ref().map(|(path, _)| path.as_path())
    }

    /// Makes the object at this path durable, because its writer may have died before that. No-op except on a local
    /// disk.
    pub(crate) async fn make_durable(&self, path: &str) -> Result<()> {
        let Some((directory, disk)) = &self.directory else {
            return Ok(());
        };
        disk.make_durable(directory.join(path))
            .await
            .map_err(Error::Storage)
    }

    /// Returns whether this is certainly the newest version of a table; `None` is a table that was never written. On a
    /// disk, tests a few names. Always false elsewhere.
    pub(crate) fn is_newest(&self, table: &str, version: Option<u64>) -> bool {
        let Some(directory) = self.local_directory() else {
            return false;
        };
        log_tail::is_newest(&directory.join(table), version)
    }

    /// Checks what commits need of the storage, and leaves nothing behind. Returns `None` for a local disk, which has
    /// it.
    ///
    /// A web server is checked as well, and accepts no writes.
    pub async fn probe(&self) -> Option<Vec<ProbeResult>> {
        let remote = self.remote.as_ref()?;
        Some(remote.probe(&self.prefix).await)
    }

    /// Caches file sizes, which never change, so footers are read in one request.
    pub(crate) fn cache_sizes(&self, sizes: impl Iterator<Item = (Path, u64)>) {
        let Some(remote) = &self.remote else { return };
        for (object, size_bytes) in sizes {
            remote.cache_size(self.root_path(&object), size_bytes);
        }
    }

    /// Evicts the cached tail of a remote file. Returns false if there is none.
    pub(crate) fn evict(&self, object: &Path) -> bool {
        let remote = self.remote.as_ref();
        remote.is_some_and(|remote| remote.evict(&self.root_path(object)))
    }

    /// Returns whether the store is in a bucket, where each request is a round trip and listings are cheap.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote.as_ref().is_some_and(|remote| remote.can_list())
    }

    fn root_path(&self, object: &Path) -> Path {
        self.prefix.parts().chain(object.parts()).collect()
    }

    /// Returns the objects of the store, by their path in it.
    pub fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// Lists the files in a folder of the store and below it. Does not follow symbolic links.
    pub(crate) async fn files_in(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let folder = Path::from(folder);
        let listed = match &self.directory {
            None => self.objects.list(Some(&folder)).try_collect().await,
            Some((directory, disk)) => disk.files_in(directory.clone(), folder).await,
        };
        listed.map_err(Error::Storage)
    }

    /// Returns the URL of a table's folder among the objects of the store.
    pub(crate) fn table_url(&self, table: &str) -> Result<Url> {
        self.base
            .join(&format!("{table}/"))
            .map_err(|error| Error::InvalidLocation(error.to_string()))
    }

    /// Reads an object. Returns `None` if it does not exist.
    pub async fn read(&self, path: &str) -> Result<Option<bytes::Bytes>> {
        match self.objects.get(&Path::from(path)).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(Error::Storage)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::Storage(error)),
        }
    }

    /// Returns the current time of the storage in milliseconds since 1970: from the clock that dates the files of the
    /// store, which may differ from this machine's clock.
    pub(crate) async fn now_ms(&self) -> Result<i64> {
        let path = Path::from(format!(".clock-{}", uuid::Uuid::new_v4().simple()));
        let written = self.objects.put(&path, PutPayload::from("now")).await;
        written.map_err(Error::Storage)?;
        let found = self.objects.head(&path).await;
        self.objects.delete(&path).await.map_err(Error::Storage)?;
        let found = found.map_err(Error::Storage)?;
        Ok(found.last_modified.timestamp_millis())
    }

    /// Writes a data file under a unique name.
    pub async fn write(&self, path: &Path, bytes: Vec<u8>) -> Result<()> {
        if self.remote.is_none() || bytes.len() < PART_BYTES {
            let written = self.objects.put(path, PutPayload::from(bytes)).await;
            return written.map(|_| ()).map_err(Error::Storage);
        }
        let upload = self.objects.put_multipart(path).await;
        let mut parts =
            WriteMultipart::new_with_chunk_size(upload.map_err(Error::Storage)?, PART_BYTES);
        let bytes = bytes::Bytes::from(bytes);
        let mut begin = 0;
        while begin < bytes.len() {
            let end = (begin + PART_BYTES).min(bytes.len());
            let ready = parts.wait_for_capacity(PARTS).await;
            ready.map_err(Error::Storage)?;
            parts.put(bytes.slice(begin..end));
            begin = end;
        }
        parts.finish().await.map(|_| ()).map_err(Error::Storage)
    }

    /// Creates an object. Returns false if another one exists already. Two writers must not write the same bytes: after
    /// a lost response and a retry, the bytes tell whose object it is.
    pub(crate) async fn create(&self, path: &str, bytes: Vec<u8>) -> Result<bool> {
        let payload = PutPayload::from(bytes.clone());
        match self
            .objects
            .put_opts(&Path::from(path), payload, PutMode::Create.into())
            .await
        {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => {
                Ok(self.read(path).await?.is_some_and(|there| there == bytes))
            }
            Err(error) => Err(Error::Storage(error)),
        }
    }
}

/// Returns the absolute path with `..` and links resolved, as far as it exists.
fn resolve_path(directory: &FilePath) -> Result<PathBuf> {
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use arrow::array::RecordBatch;

    use crate::Store;
    use crate::log::tests::add;

    /// Names of all files and folders below a folder.
    fn names(folder: &FilePath) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.unwrap();
            names.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                names.extend(self::names(&entry.path()));
            }
        }
        names
    }

    #[tokio::test]
    async fn a_store_is_read_where_it_is_written_whatever_its_folder_is_called() {
        let place = tempfile::tempdir().unwrap();
        for name in [
            "a%20b",
            "x%41y",
            "%2e%2e",
            "%2F",
            "100%",
            "a\\b",
            "a#b",
            "a?b",
            "a b",
            " a ",
            "a#1",
            "a*[b]{c}",
            "~",
            "'\"`$&;|<>!^",
            "C|",
            "ä日本",
            "a:b",
            "file:x",
            "s3:",
            "a+b=c,@",
            ".a.",
        ] {
            let folder = place.path().join(name);
            // Names that could be misinterpreted.
            fs::create_dir_all(place.path().join("a b")).unwrap();
            let before = names(place.path());
            let given = folder.to_str().unwrap();
            let store = Store::create(given).await.unwrap();
            add(&store, 1).await;
            add(&store, 2).await;
            let reopened = Store::open(given).await.unwrap();
            let snapshot = reopened.snapshot("graphs").await.unwrap().unwrap();
            assert_eq!(snapshot.files().len(), 2, "{name}");
            let rows = reopened.read("graphs", &snapshot, &["graph_id"], None);
            let batches = rows.await.unwrap();
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 2, "{name}");
            for path in names(place.path()) {
                let is_expected = path.starts_with(&folder) || before.contains(&path);
                assert!(is_expected, "{name}: {}", path.display());
            }
            let url = Url::from_directory_path(&folder).unwrap();
            assert!(Store::open(url.as_str()).await.is_ok(), "{url}");
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[tokio::test]
    async fn an_unusable_folder_name_is_rejected_before_writing() {
        use std::os::unix::ffi::OsStrExt as _;
        let place = tempfile::tempdir().unwrap();
        for name in [&b"a\nb"[..], b"a\x01", b"\xff"] {
            let folder = place.path().join(std::ffi::OsStr::from_bytes(name));
            let refused = Location::open_directory("x", &folder, None);
            let refused = refused.unwrap_err().to_string();
            assert!(
                refused.contains("not UTF-8 or has control characters"),
                "{refused}"
            );
        }
        for url in ["a?b", "a#b"] {
            let given = format!("file://{}/{url}", place.path().display());
            let refused = Store::create(&given).await.err().unwrap().to_string();
            assert!(refused.contains("expected `%3F` and `%23`"), "{refused}");
        }
        assert!(names(place.path()).is_empty());
    }
}
