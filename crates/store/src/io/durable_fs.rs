//! A local disk that has what it says it has.
//!
//! `object_store` renames or links a finished file into place and never calls `fsync`: after a
//! power cut a table log may name data files that are empty, or have an entry that is. Here a file gets
//! its name only when its bytes are on the disk, and a write returns only when the entries of the folders
//! above it are, too.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryFutureExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, Result,
};

use tsql_folders::{check_below, open_at_once};

use crate::log_files::log_tail;
use tsql_error::DamagedFile;

/// Folders above a written file that a store can have made for it: partition folders, the table,
/// the store itself, and the one that holds the store.
const FOLDERS_SYNCED: usize = 5;

/// One thing that is asked of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A folder is made, and those above it.
    Folder(PathBuf),
    /// A file is made, with these bytes.
    File(PathBuf, Bytes),
    /// The bytes of a file are on the disk after it.
    SyncFile(PathBuf),
    /// The first name is given to the file of the second, too.
    Link(PathBuf, PathBuf),
    /// The first name is taken from the file, which has the second one now.
    Rename(PathBuf, PathBuf),
    /// A file is removed.
    Remove(PathBuf),
    /// The names in a folder are on the disk after it.
    SyncFolder(PathBuf),
}

/// Is told each step before it is done; a test can make it fail.
pub type Watch = Arc<dyn Fn(&Step) -> io::Result<()> + Send + Sync>;

/// The local file system with durable writes.
#[derive(Clone)]
pub(crate) struct Synced {
    inner: Arc<LocalFileSystem>,
    disk: Disk,
}

impl fmt::Debug for Synced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl Synced {
    /// The disk below `root`, an absolute path without links.
    pub(crate) fn new(inner: LocalFileSystem, root: PathBuf, watch: Option<Watch>) -> Self {
        let inner = Arc::new(inner);
        let disk = Disk {
            root: root.into(),
            watch,
            named: Arc::default(),
        };
        Self { inner, disk }
    }

    /// The file, and its name, are on the disk when this returns, whoever has written it; where it is gone,
    /// the folders above it.
    pub(crate) async fn settle(&self, file: PathBuf) -> Result<()> {
        let disk = self.disk.clone();
        on_a_thread(move || disk.settle(&file)).await
    }

    /// The files in a folder of `directory` and below it; nothing that a link leads to.
    pub(crate) async fn files_in(
        &self,
        directory: PathBuf,
        folder: Path,
    ) -> Result<Vec<ObjectMeta>> {
        on_a_thread(move || {
            let mut files = Vec::new();
            let at = directory.join(folder.as_ref());
            if checked(&directory, &at.join("x")).is_err() {
                return Ok(files);
            }
            match walk(&at, &folder, &mut files) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
                walked => walked.map(|()| files),
            }
        })
        .await
    }

    /// Rejects pipes and devices: a read could wait for ever.
    fn check_file(&self, location: &Path) -> Result<()> {
        let file = self.inner.path_to_filesystem(location)?;
        if std::fs::metadata(&file).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let damage = DamagedFile::new(&file.to_string_lossy(), "a pipe or a device is");
            return Err(failed(damage.into()));
        }
        Ok(())
    }

    async fn sync(&self, location: &Path) -> Result<()> {
        self.settle(self.inner.path_to_filesystem(location)?).await
    }
}

async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| failed(error.into()))?
        .map_err(|error| failed(error.into()))
}

/// Lists the regular files of a folder and of those below it. Who is gone meanwhile is left out, and so are names that are
/// no path of an object.
fn walk(at: &FilePath, folder: &Path, files: &mut Vec<ObjectMeta>) -> io::Result<()> {
    for entry in std::fs::read_dir(at)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = name
            .to_str()
            .and_then(|name| Path::parse(format!("{folder}/{name}")).ok());
        let (Some(path), kind) = (path, entry.file_type()?) else {
            continue;
        };
        let listed = match kind {
            kind if kind.is_dir() => walk(&entry.path(), &path, files),
            kind if kind.is_file() => entry.metadata().and_then(|metadata| {
                files.push(ObjectMeta {
                    location: path,
                    last_modified: metadata.modified()?.into(),
                    size: metadata.len(),
                    e_tag: None,
                    version: None,
                });
                Ok(())
            }),
            _ => Ok(()),
        };
        match listed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            listed => listed?,
        }
    }
    Ok(())
}

/// Checks that a path leads out of `root` by no link; see [`check_below`].
fn checked(root: &FilePath, path: &FilePath) -> io::Result<()> {
    check_below(root, path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Who fails, in errors.
pub(crate) const DISK: &str = "local disk";

fn failed(source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let store = DISK;
    Error::Generic { store, source }
}

/// Does one step after the other.
#[derive(Clone)]
struct Disk {
    /// Nothing is written or deleted outside of it.
    root: Arc<FilePath>,
    watch: Option<Watch>,
    /// Folders whose own names, and those above them, this process has synced: nobody takes folders out of a
    /// store.
    named: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Disk {
    fn step(&self, step: &Step) -> io::Result<()> {
        if let Some(watch) = &self.watch {
            watch(step)?;
        }
        match step {
            Step::Folder(folder) => checked(&self.root, &folder.join("x"))?,
            Step::File(file, _) | Step::Remove(file) => checked(&self.root, file)?,
            Step::Link(from, to) | Step::Rename(from, to) => {
                checked(&self.root, from)?;
                checked(&self.root, to)?;
            }
            // Reads only, also above it.
            Step::SyncFile(_) | Step::SyncFolder(_) => {}
        }
        match step {
            Step::Folder(folder) => std::fs::create_dir_all(folder),
            Step::File(file, bytes) => File::create_new(file)?.write_all(bytes),
            Step::SyncFile(path) | Step::SyncFolder(path) => open_at_once(path)?.sync_all(),
            Step::Link(from, to) => std::fs::hard_link(from, to),
            Step::Rename(from, to) => std::fs::rename(from, to),
            Step::Remove(file) => std::fs::remove_file(file),
        }
    }

    fn settle(&self, file: &FilePath) -> io::Result<()> {
        match self.step(&Step::SyncFile(file.to_owned())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
        self.sync_folders(file)
    }

    /// Syncs the folder of a file, and those above it as far as their names may not be on the disk.
    fn sync_folders(&self, file: &FilePath) -> io::Result<()> {
        let (mut below, mut done) = (None, Vec::new());
        for folder in file.ancestors().skip(1).take(FOLDERS_SYNCED) {
            match self.step(&Step::SyncFolder(folder.to_owned())) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                synced => synced?,
            }
            done.extend(below.replace(folder.to_owned()));
            if self.named().contains(folder) {
                break;
            }
        }
        self.named().extend(done);
        Ok(())
    }

    fn named(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file under a name that nobody else uses and no listing shows, and gives it its own when all
    /// of it is on the disk. `is_new`: there must be none of that name.
    fn write(&self, file: &FilePath, payload: PutPayload, is_new: bool) -> io::Result<()> {
        let mut staged = file.as_os_str().to_owned();
        staged.push(format!("#{}", fastrand::u64(..)));
        let staged = PathBuf::from(staged);
        let new = Step::File(staged.clone(), payload.into());
        let mut written = self.step(&new);
        if let (Err(error), Some(folder)) = (&written, file.parent())
            && error.kind() == io::ErrorKind::NotFound
        {
            self.step(&Step::Folder(folder.to_owned()))?;
            for made in folder.ancestors() {
                self.named().remove(made);
            }
            written = self.step(&new);
        }
        let written = written.and_then(|()| self.step(&Step::SyncFile(staged.clone())));
        let named = written.and_then(|()| {
            let names = (staged.clone(), file.to_owned());
            self.step(&match is_new {
                true => Step::Link(names.0, names.1),
                false => Step::Rename(names.0, names.1),
            })
        });
        if is_new || named.is_err() {
            // What stays behind is shown nowhere.
            let _ = self.step(&Step::Remove(staged));
        }
        named?;
        self.sync_folders(file)
    }
}

impl fmt::Display for Synced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Synced({})", self.inner)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Synced {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let is_new = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            PutMode::Update(_) => return self.inner.put_opts(location, payload, options).await,
        };
        let file = self.inner.path_to_filesystem(location)?;
        let (path, target) = (location.to_string(), file.clone());
        let disk = self.disk.clone();
        let done = tokio::task::spawn_blocking(move || disk.write(&target, payload, is_new)).await;
        match done.map_err(|error| failed(error.into()))? {
            Ok(()) => Ok(PutResult {
                e_tag: None,
                version: None,
            }),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
                let source = source.into();
                Err(Error::AlreadyExists { path, source })
            }
            Err(source) => Err(failed(format!("{}: {source}", file.display()).into())),
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        if !options.attributes.is_empty() {
            return self.inner.put_multipart_opts(location, options).await;
        }
        Ok(Box::new(Parts {
            parts: Vec::new(),
            store: self.clone(),
            location: location.clone(),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.check_file(location)?;
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check_file(location)?;
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let (disk, inner) = (self.disk.clone(), Arc::clone(&self.inner));
        let checked = locations.map(move |location| {
            let location = location?;
            let file = inner.path_to_filesystem(&location)?;
            checked(&disk.root, &file).map_err(|error| failed(error.into()))?;
            Ok(location)
        });
        self.inner.delete_stream(checked.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        // Readers of logs take listings for sorted.
        let listed = self.inner.list_with_offset(prefix, offset);
        let listed = listed.try_collect::<Vec<_>>().map_ok(|mut files| {
            files.sort_unstable_by(|one, other| one.location.cmp(&other.location));
            stream::iter(files).map(Ok)
        });
        let listed = stream::once(listed).try_flatten().boxed();
        let (Some(folder), Some(first)) = (prefix.cloned(), log_tail::first(prefix, offset)) else {
            return listed;
        };
        let disk = Arc::clone(&self.inner);
        let files = async move {
            let on_disk = disk.path_to_filesystem(&folder)?;
            let files = on_a_thread(move || log_tail::files(&on_disk, first)).await?;
            let Some(files) = files else {
                return Ok(listed);
            };
            let files = files.into_iter().map(move |(name, metadata)| {
                Ok(ObjectMeta {
                    location: folder.clone().join(name),
                    last_modified: metadata
                        .modified()
                        .map_err(|error| failed(error.into()))?
                        .into(),
                    size: metadata.len(),
                    e_tag: None,
                    version: None,
                })
            });
            Ok::<_, Error>(stream::iter(files).boxed())
        };
        stream::once(files).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        for path in [from, to] {
            let file = self.inner.path_to_filesystem(path)?;
            checked(&self.disk.root, &file).map_err(|error| failed(error.into()))?;
        }
        self.inner.copy_opts(from, to, options).await?;
        self.sync(to).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        for path in [from, to] {
            let file = self.inner.path_to_filesystem(path)?;
            checked(&self.disk.root, &file).map_err(|error| failed(error.into()))?;
        }
        self.inner.rename_opts(from, to, options).await?;
        self.sync(to).await
    }
}

/// The parts of a file, which is written when it has them all.
#[derive(Debug)]
struct Parts {
    parts: Vec<PutPayload>,
    store: Synced,
    location: Path,
}

#[async_trait::async_trait]
impl MultipartUpload for Parts {
    fn put_part(&mut self, data: PutPayload) -> object_store::UploadPart {
        self.parts.push(data);
        Box::pin(std::future::ready(Ok(())))
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let parts = std::mem::take(&mut self.parts);
        let all: PutPayload = parts.into_iter().flatten().collect();
        self.store.put(&self.location, all).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.parts.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &FilePath) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_file_is_there_as_a_whole_once_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        let disk = Synced::new(disk, folder.path().to_owned(), None);
        let path = Path::from("t/log/0.json");
        let create = || PutOptions::from(PutMode::Create);
        disk.put_opts(&path, "first".into(), create())
            .await
            .unwrap();
        let second = disk.put_opts(&path, "second".into(), create()).await;
        assert!(
            matches!(second, Err(Error::AlreadyExists { .. })),
            "{second:?}"
        );
        let read = async |path: &Path| disk.get(path).await.unwrap().bytes().await.unwrap();
        assert_eq!(read(&path).await, "first");
        disk.put(&path, "third".into()).await.unwrap();
        assert_eq!(read(&path).await, "third");
        let parts = Path::from("t/log/parts");
        let mut upload = disk.put_multipart(&parts).await.unwrap();
        for part in ["a", "b"] {
            upload.put_part(part.into()).await.unwrap();
        }
        assert_eq!(names(&folder.path().join("t/log")), ["0.json"], "not yet");
        upload.complete().await.unwrap();
        assert_eq!(read(&parts).await, "ab");
        // A folder is in the way.
        std::fs::create_dir(folder.path().join("t/log/1.json")).unwrap();
        let blocked = Path::from("t/log/1.json");
        assert!(disk.put(&blocked, "x".into()).await.is_err());
        assert_eq!(
            names(&folder.path().join("t/log")),
            ["0.json", "1.json", "parts"]
        );
    }
}
