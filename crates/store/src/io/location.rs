//! Where a store lies: a directory, a bucket, a web server, or memory.

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

use crate::io::durable_fs::{Synced, Watch};
use crate::io::remote::{Probed, Remote, SCHEMES};
use crate::log_files::log_tail;
use tsql_error::{Error, Result};

/// Objects from this size on go to a bucket in parts.
const PART_BYTES: usize = 16 << 20;

/// Scheme of the URLs of tables on a local disk. With `file` readers of logs would look for the URL's path on the disk
/// themselves, in their own way of escaping names.
pub(crate) const LOCAL_SCHEME: &str = "disk";

/// Parts that are on their way at the same time.
const PARTS: usize = 4;

/// The place of a store, and how to read and write there.
///
/// - On a local disk every write is on the disk before it is reported.
/// - A bucket is written to only if it keeps writers apart; that is tried before the first write.
#[derive(Clone, Debug)]
pub struct Location {
    given: String,
    /// What the URLs of its tables begin with. It names no folder: how URLs escape names differs from how folders are named.
    base: Url,
    objects: Arc<dyn ObjectStore>,
    /// Where the store begins on its disk, in its bucket or on its server.
    prefix: Path,
    directory: Option<(PathBuf, Synced)>,
    remote: Option<Arc<Remote>>,
}

impl Location {
    /// Understands a directory's path, a `file://` URL, `s3://bucket/prefix`, `https://host/path`
    /// (for reading only), or `memory:` (gone with the process).
    ///
    /// A bucket's server and who signs follow from `AWS_*` variables, profiles (`~/.aws/config`), and
    /// a `tsql.toml` of settings. Asks nobody yet.
    ///
    /// # Errors
    /// [`Error::InvalidLocation`] for any other scheme and a path that cannot be a URL, [`Error::Setting`] for settings
    /// that are wrong.
    pub async fn open(given: &str) -> Result<Self> {
        if given == "memory:" {
            return Self::memory();
        }
        if let Some((scheme, _)) = given.split_once("://")
            && scheme != "file"
        {
            if SCHEMES.contains(&scheme) {
                return Self::remote(given).await;
            }
            return Err(Error::InvalidLocation(format!(
                "`{given}`: stores on `{scheme}` are not supported, expected a directory, `s3://`, `https://`, `file://` or `memory:`"
            )));
        }
        let directory = if given.starts_with("file://") {
            let wrong = || Error::InvalidLocation(format!("`{given}` is no local directory"));
            let url = Url::parse(given).map_err(|_| wrong())?;
            if url.query().is_some() || url.fragment().is_some() {
                return Err(Error::InvalidLocation(format!(
                    "`{given}`: a URL of a directory has no `?` and no `#`, expected `%3F` and `%23`"
                )));
            }
            url.to_file_path().map_err(|()| wrong())?
        } else {
            PathBuf::from(given)
        };
        Self::directory(given, &directory, None)
    }

    /// A directory in which a test sees each step.
    pub(crate) fn watched(directory: &FilePath, watch: Watch) -> Result<Self> {
        let given = directory.to_string_lossy();
        Self::directory(&given, directory, Some(watch))
    }

    async fn remote(given: &str) -> Result<Self> {
        let wrong =
            |error: &dyn std::fmt::Display| Error::InvalidLocation(format!("`{given}`: {error}"));
        let mut url = Url::parse(given).map_err(|error| wrong(&error))?;
        if url.query().is_some() {
            let reason = "a query is no part of a store's URL";
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
            ..Self::within(given, base, root, prefix)
        })
    }

    fn memory() -> Result<Self> {
        Self::over(Arc::new(InMemory::new()))
    }

    /// A store in an object store of a test's own.
    pub(crate) fn over(root: Arc<dyn ObjectStore>) -> Result<Self> {
        let base = Url::parse("memory:///").map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self::within("memory:", base, root, Path::from("store")))
    }

    /// The place below `prefix` of an object store.
    fn within(given: &str, base: Url, root: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            given: given.to_owned(),
            base,
            objects: Arc::new(PrefixStore::new(root, prefix.clone())),
            prefix,
            directory: None,
            remote: None,
        }
    }

    fn directory(given: &str, directory: &FilePath, watch: Option<Watch>) -> Result<Self> {
        let absolute = resolved(directory)?;
        let base = Url::parse(&format!("{LOCAL_SCHEME}:///"))
            .map_err(|error| Error::Internal(error.to_string()))?;
        let system = LocalFileSystem::new();
        let prefix = Path::from_absolute_path(&absolute).ok();
        // What is written must be what is read, whatever the folder is called.
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
        let disk = Synced::new(system, absolute.clone(), watch);
        let root = Arc::new(disk.clone());
        Ok(Self {
            directory: Some((absolute, disk)),
            ..Self::within(given, base, root, prefix)
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
        self.directory.as_ref().map(|(path, _)| path.as_path())
    }

    /// What is written at this path is on the disk when this returns; elsewhere it always is. Whoever wrote it
    /// may not have lived to see it there.
    pub(crate) async fn settle(&self, path: &str) -> Result<()> {
        let Some((directory, disk)) = &self.directory else {
            return Ok(());
        };
        disk.settle(directory.join(path))
            .await
            .map_err(Error::Storage)
    }

    /// Is this surely the newest version of a table, `None` one that nobody has written? A disk is asked for a few names; nothing
    /// is sure elsewhere.
    pub(crate) fn is_newest(&self, table: &str, version: Option<u64>) -> bool {
        let Some(directory) = self.local_directory() else {
            return false;
        };
        log_tail::is_newest(&directory.join(table), version)
    }

    /// Tries what commits need of the place, and leaves nothing behind; `None` for a local disk, which
    /// has it.
    ///
    /// A web server is asked too, and takes no writes.
    pub async fn probe(&self) -> Option<Vec<Probed>> {
        let remote = self.remote.as_ref()?;
        Some(remote.probe(&self.prefix).await)
    }

    /// Remembers the sizes of files, which never change: their footers are read once.
    pub(crate) fn know(&self, sizes: impl Iterator<Item = (Path, u64)>) {
        let Some(remote) = &self.remote else { return };
        for (object, size_bytes) in sizes {
            remote.know(self.in_root(&object), size_bytes);
        }
    }

    /// Drops what this machine keeps of a file that lies elsewhere; false where it keeps nothing of it.
    pub(crate) fn forget(&self, object: &Path) -> bool {
        let remote = self.remote.as_ref();
        remote.is_some_and(|remote| remote.forget(&self.in_root(object)))
    }

    /// Does it lie in a bucket, where each request is a round trip and listings are cheap?
    pub(crate) fn is_far(&self) -> bool {
        self.remote.as_ref().is_some_and(|remote| remote.lists())
    }

    fn in_root(&self, object: &Path) -> Path {
        self.prefix.parts().chain(object.parts()).collect()
    }

    /// The objects of the store, by their path in it.
    pub fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// The files in a folder of the store and below it, as they are listed; nothing that a symbolic link leads to.
    pub(crate) async fn files_in(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let folder = Path::from(folder);
        let listed = match &self.directory {
            None => self.objects.list(Some(&folder)).try_collect().await,
            Some((directory, disk)) => disk.files_in(directory.clone(), folder).await,
        };
        listed.map_err(Error::Storage)
    }

    /// URL of a table's folder among the objects of the store.
    pub(crate) fn table_url(&self, table: &str) -> Result<Url> {
        self.base
            .join(&format!("{table}/"))
            .map_err(|error| Error::InvalidLocation(error.to_string()))
    }

    /// The whole object, `None` where there is none.
    pub async fn read(&self, path: &str) -> Result<Option<bytes::Bytes>> {
        match self.objects.get(&Path::from(path)).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(Error::Storage)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::Storage(error)),
        }
    }

    /// What time it is there, in milliseconds since 1970: by the clock that the files of the store are
    /// dated by, whatever this machine's says.
    pub(crate) async fn now_ms(&self) -> Result<i64> {
        let path = Path::from(format!(".clock-{}", uuid::Uuid::new_v4().simple()));
        let written = self.objects.put(&path, PutPayload::from("now")).await;
        written.map_err(Error::Storage)?;
        let found = self.objects.head(&path).await;
        self.objects.delete(&path).await.map_err(Error::Storage)?;
        let found = found.map_err(Error::Storage)?;
        Ok(found.last_modified.timestamp_millis())
    }

    /// Writes a data file, whose name nobody else uses.
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

    /// Writes a new object; false where there is another one already. No two writers may have the same
    /// bytes: where an answer is lost and the request sent again, they tell whose object is there.
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use arrow::array::RecordBatch;

    use crate::Store;
    use crate::log::tests::add;

    /// The names of all files and folders below a folder.
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
            // What its name may be taken for.
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
    async fn a_folder_that_no_object_can_name_is_refused_before_anything_is_written() {
        use std::os::unix::ffi::OsStrExt as _;
        let place = tempfile::tempdir().unwrap();
        for name in [&b"a\nb"[..], b"a\x01", b"\xff"] {
            let folder = place.path().join(std::ffi::OsStr::from_bytes(name));
            let refused = Location::directory("x", &folder, None);
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
