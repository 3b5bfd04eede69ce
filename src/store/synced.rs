//! A local disk that has what it says it has.
//!
//! `object_store` renames or links a finished file into place and never calls `fsync`: after a
//! power cut a table log may name data files that are empty, or have an entry that is. Here a file gets
//! its name only when its bytes are on the disk, and a write returns only when the entries of the folders
//! above it are, too.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, Result,
};

/// Folders above a written file that a store can have made for it: partition folders, the table,
/// the store itself, and the one that holds the store.
const FOLDERS_SYNCED: usize = 5;

/// The local file system with durable writes.
#[derive(Debug, Clone)]
pub(super) struct Synced(Arc<LocalFileSystem>);

impl Synced {
    pub(super) fn new(inner: LocalFileSystem) -> Self {
        Self(Arc::new(inner))
    }

    async fn sync(&self, location: &Path) -> Result<()> {
        let file = self.0.path_to_filesystem(location)?;
        on_a_thread(move || sync_with_folders(&file)).await
    }
}

async fn on_a_thread(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<()> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| failed(error.into()))?
        .map_err(|error| failed(error.into()))
}

fn failed(source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let store = "local disk";
    Error::Generic { store, source }
}

fn sync_with_folders(file: &FilePath) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    sync_folders(file)
}

fn sync_folders(file: &FilePath) -> io::Result<()> {
    for folder in file.ancestors().skip(1).take(FOLDERS_SYNCED) {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            other => other?,
        }
    }
    Ok(())
}

/// Writes the file under a name that nobody else uses and no listing shows, and gives it its own when all
/// of it is on the disk. `is_new`: there must be none of that name.
fn write(file: &FilePath, payload: &PutPayload, is_new: bool) -> io::Result<()> {
    let mut staged = file.as_os_str().to_owned();
    staged.push(format!("#{}", fastrand::u64(..)));
    let staged = PathBuf::from(staged);
    let mut opened = File::create_new(&staged);
    if let (Err(error), Some(folder)) = (&opened, file.parent())
        && error.kind() == io::ErrorKind::NotFound
    {
        std::fs::create_dir_all(folder)?;
        opened = File::create_new(&staged);
    }
    let mut writer = opened?;
    let mut parts = payload.iter();
    let written = parts
        .try_for_each(|part| writer.write_all(part))
        .and_then(|()| writer.sync_all());
    drop(writer);
    let named = written.and_then(|()| {
        if is_new {
            std::fs::hard_link(&staged, file)
        } else {
            std::fs::rename(&staged, file)
        }
    });
    if is_new || named.is_err() {
        // What stays behind is shown nowhere.
        let _ = std::fs::remove_file(&staged);
    }
    named?;
    sync_folders(file)
}

impl fmt::Display for Synced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Synced({})", self.0)
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
            PutMode::Update(_) => return self.0.put_opts(location, payload, options).await,
        };
        let file = self.0.path_to_filesystem(location)?;
        let (path, target) = (location.to_string(), file.clone());
        let done = tokio::task::spawn_blocking(move || write(&target, &payload, is_new)).await;
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
            return self.0.put_multipart_opts(location, options).await;
        }
        Ok(Box::new(Parts {
            parts: Vec::new(),
            store: self.clone(),
            location: location.clone(),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await?;
        self.sync(to).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename_opts(from, to, options).await?;
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
        let disk = Synced::new(disk);
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
