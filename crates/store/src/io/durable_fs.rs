//! Local file system with durable writes.
//!
//! `object_store` renames or links a finished file into place and never calls `fsync`. After a power failure, a table
//! log may refer to empty data files, or have an empty entry. Here a file gets its name only after its bytes are on the
//! disk. A write returns only after the entries of the folders above it are on the disk as well.

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
    CopyOptions, Error, GetOptions, GetResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, Result,
};

use tsql_folders::{check_below, open_nonblocking};

use crate::io::forward::forward_to;
use crate::log_files::log_tail;
use tsql_error::DamagedFile;

/// Number of folders above a written file that a store may have created: partition folders, the table, the store, and
/// its parent folder.
const FOLDERS_SYNCED: usize = 5;

/// An operation on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskStep {
    /// Creates a folder and its parents.
    Folder(PathBuf),
    /// Creates a file with these bytes.
    File(PathBuf, Bytes),
    /// Syncs the bytes of a file.
    SyncFile(PathBuf),
    /// Links the first name to the file of the second.
    Link(PathBuf, PathBuf),
    /// Renames the first name to the second.
    Rename(PathBuf, PathBuf),
    /// Removes a file.
    Remove(PathBuf),
    /// Syncs the names in a folder.
    SyncFolder(PathBuf),
}

/// Called before each step. A test can make it fail.
pub type Watch = Arc<dyn Fn(&DiskStep) -> io::Result<()> + Send + Sync>;

/// The local file system with durable writes.
#[derive(Clone)]
pub(crate) struct DurableFs {
    inner: Arc<LocalFileSystem>,
    disk: Disk,
}

impl fmt::Debug for DurableFs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl DurableFs {
    /// Creates the file system below `root`, an absolute path without links.
    pub(crate) fn new(inner: LocalFileSystem, root: PathBuf, watch: Option<Watch>) -> Self {
        let inner = Arc::new(inner);
        let disk = Disk {
            root: root.into(),
            watch,
            named: Arc::default(),
        };
        Self { inner, disk }
    }

    /// Makes a file and its name durable, whoever has written it. If the file is gone, makes the folders above it
    /// durable.
    pub(crate) async fn make_durable(&self, file: PathBuf) -> Result<()> {
        let disk = self.disk.clone();
        spawn_io(move || disk.make_durable(&file)).await
    }

    /// Lists the files in a folder of `directory` and below it. Does not follow links.
    pub(crate) async fn files_in(
        &self,
        directory: PathBuf,
        folder: Path,
    ) -> Result<Vec<ObjectMeta>> {
        spawn_io(move || {
            let mut files = Vec::new();
            let at = directory.join(folder.as_ref());
            if check_no_links(&directory, &at.join("x")).is_err() {
                return Ok(files);
            }
            match list_files(&at, &folder, &mut files) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
                walked => walked.map(|()| files),
            }
        })
        .await
    }

    /// Rejects pipes and devices, because a read could block forever.
    fn check_file(&self, location: &Path) -> Result<()> {
        let file = self.inner.path_to_filesystem(location)?;
        if std::fs::metadata(&file).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let damage = DamagedFile::new(&file.to_string_lossy(), "it is a pipe or a device,");
            return Err(disk_error(damage.into()));
        }
        Ok(())
    }

    async fn sync(&self, location: &Path) -> Result<()> {
        self.make_durable(self.inner.path_to_filesystem(location)?)
            .await
    }
}

async fn spawn_io<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| disk_error(error.into()))?
        .map_err(|error| disk_error(error.into()))
}

/// Lists the regular files of a folder and of those below it. Skips files that are removed meanwhile, and names that
/// are not object paths.
fn list_files(at: &FilePath, folder: &Path, files: &mut Vec<ObjectMeta>) -> io::Result<()> {
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
            kind if kind.is_dir() => list_files(&entry.path(), &path, files),
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

/// Checks that no link leads from a path out of `root`; see [`check_below`].
fn check_no_links(root: &FilePath, path: &FilePath) -> io::Result<()> {
    check_below(root, path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Name of the failing store in errors.
pub(crate) const DISK: &str = "local disk";

fn disk_error(source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let store = DISK;
    Error::Generic { store, source }
}

/// Runs steps in order.
#[derive(Clone)]
struct Disk {
    /// Nothing is written or deleted outside of it.
    root: Arc<FilePath>,
    watch: Option<Watch>,
    /// Folders whose entries, and those of the folders above, this process has synced. Folders are never removed from a
    /// store.
    named: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Disk {
    fn step(&self, step: &DiskStep) -> io::Result<()> {
        if let Some(watch) = &self.watch {
            watch(step)?;
        }
        match step {
            DiskStep::Folder(folder) => check_no_links(&self.root, &folder.join("x"))?,
            DiskStep::File(file, _) | DiskStep::Remove(file) => check_no_links(&self.root, file)?,
            DiskStep::Link(from, to) | DiskStep::Rename(from, to) => {
                check_no_links(&self.root, from)?;
                check_no_links(&self.root, to)?;
            }
            // Reads only, also above it.
            DiskStep::SyncFile(_) | DiskStep::SyncFolder(_) => {}
        }
        match step {
            DiskStep::Folder(folder) => std::fs::create_dir_all(folder),
            DiskStep::File(file, bytes) => File::create_new(file)?.write_all(bytes),
            DiskStep::SyncFile(path) | DiskStep::SyncFolder(path) => {
                open_nonblocking(path)?.sync_all()
            }
            DiskStep::Link(from, to) => std::fs::hard_link(from, to),
            DiskStep::Rename(from, to) => std::fs::rename(from, to),
            DiskStep::Remove(file) => std::fs::remove_file(file),
        }
    }

    fn make_durable(&self, file: &FilePath) -> io::Result<()> {
        match self.step(&DiskStep::SyncFile(file.to_owned())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
        self.sync_folders(file)
    }

    /// Syncs the folder of a file, and the folders above it that may not be durable yet.
    fn sync_folders(&self, file: &FilePath) -> io::Result<()> {
        let (mut below, mut done) = (None, Vec::new());
        for folder in file.ancestors().skip(1).take(FOLDERS_SYNCED) {
            match self.step(&DiskStep::SyncFolder(folder.to_owned())) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                synced => synced?,
            }
            done.extend(below.replace(folder.to_owned()));
            if self.synced_folders().contains(folder) {
                break;
            }
        }
        self.synced_folders().extend(done);
        Ok(())
    }

    fn synced_folders(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file under a unique, unlisted name, and gives it its own name after all bytes are on the disk.
    /// `is_new`: fails if the name exists.
    fn write(&self, file: &FilePath, payload: PutPayload, is_new: bool) -> io::Result<()> {
        let mut staged = file.as_os_str().to_owned();
        staged.push(format!("#{}", fastrand::u64(..)));
        let staged = PathBuf::from(staged);
        let new = DiskStep::File(staged.clone(), payload.into());
        let mut written = self.step(&new);
        if let (Err(error), Some(folder)) = (&written, file.parent())
            && error.kind() == io::ErrorKind::NotFound
        {
            self.step(&DiskStep::Folder(folder.to_owned()))?;
            for made in folder.ancestors() {
                self.synced_folders().remove(made);
            }
            written = self.step(&new);
        }
        let written = written.and_then(|()| self.step(&DiskStep::SyncFile(staged.clone())));
        let named = written.and_then(|()| {
            let names = (staged.clone(), file.to_owned());
            self.step(&match is_new {
                true => DiskStep::Link(names.0, names.1),
                false => DiskStep::Rename(names.0, names.1),
            })
        });
        if is_new || named.is_err() {
            // A file that remains is never listed.
            let _ = self.step(&DiskStep::Remove(staged));
        }
        named?;
        self.sync_folders(file)
    }
}

impl fmt::Display for DurableFs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Synced({})", self.inner)
    }
}

#[async_trait::async_trait]
impl ObjectStore for DurableFs {
    forward_to!(inner: list, list_with_delimiter);

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
        match done.map_err(|error| disk_error(error.into()))? {
            Ok(()) => Ok(PutResult {
                e_tag: None,
                version: None,
            }),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
                let source = source.into();
                Err(Error::AlreadyExists { path, source })
            }
            Err(source) => Err(disk_error(format!("{}: {source}", file.display()).into())),
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
        Ok(Box::new(DurableUpload {
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
            check_no_links(&disk.root, &file).map_err(|error| disk_error(error.into()))?;
            Ok(location)
        });
        self.inner.delete_stream(checked.boxed())
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        // Log readers expect sorted listings.
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
            let files = spawn_io(move || log_tail::files_from(&on_disk, first)).await?;
            let Some(files) = files else {
                return Ok(listed);
            };
            let files = files.into_iter().map(move |(name, metadata)| {
                Ok(ObjectMeta {
                    location: folder.clone().join(name),
                    last_modified: metadata
                        .modified()
                        .map_err(|error| disk_error(error.into()))?
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

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        for path in [from, to] {
            let file = self.inner.path_to_filesystem(path)?;
            check_no_links(&self.disk.root, &file).map_err(|error| disk_error(error.into()))?;
        }
        self.inner.copy_opts(from, to, options).await?;
        self.sync(to).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        for path in [from, to] {
            let file = self.inner.path_to_filesystem(path)?;
            check_no_links(&self.disk.root, &file).map_err(|error| disk_error(error.into()))?;
        }
        self.inner.rename_opts(from, to, options).await?;
        self.sync(to).await
    }
}

/// Buffered parts of an upload. The file is written when all parts have arrived.
#[derive(Debug)]
struct DurableUpload {
    parts: Vec<PutPayload>,
    store: DurableFs,
    location: Path,
}

#[async_trait::async_trait]
impl MultipartUpload for DurableUpload {
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
        let disk = DurableFs::new(disk, folder.path().to_owned(), None);
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
