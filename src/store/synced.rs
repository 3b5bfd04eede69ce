//! A local disk that has what it says it has.
//!
//! `object_store` renames or links a finished file into place and never calls `fsync`: after a
//! power cut a table log may name data files that are empty. Here a write returns only when the
//! file's bytes and the entries of the folders above it are on the disk.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
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
        let synced = tokio::task::spawn_blocking(move || sync_with_folders(&file)).await;
        let generic = |source: Box<dyn std::error::Error + Send + Sync>| Error::Generic {
            store: "local disk",
            source,
        };
        synced
            .map_err(|error| generic(error.into()))?
            .map_err(|error| generic(error.into()))
    }
}

fn sync_with_folders(file: &PathBuf) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    for folder in file.ancestors().skip(1).take(FOLDERS_SYNCED) {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            other => other?,
        }
    }
    Ok(())
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
        let result = self.0.put_opts(location, payload, options).await?;
        self.sync(location).await?;
        Ok(result)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.0.put_multipart_opts(location, options).await?;
        Ok(Box::new(SyncedUpload {
            inner,
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

/// A multipart upload that is synced when it completes.
#[derive(Debug)]
struct SyncedUpload {
    inner: Box<dyn MultipartUpload>,
    store: Synced,
    location: Path,
}

#[async_trait::async_trait]
impl MultipartUpload for SyncedUpload {
    fn put_part(&mut self, data: PutPayload) -> object_store::UploadPart {
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let result = self.inner.complete().await?;
        self.store.sync(&self.location).await?;
        Ok(result)
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
