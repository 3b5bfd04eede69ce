//! Objects of a new store, which exists from its first write on.
//!
//! A command that fails before it writes leaves no empty store behind. Creating and deleting the store instead could
//! delete a store that another process has opened meanwhile.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, MultipartUpload, ObjectStore, PutMode, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, RenameOptions, Result,
};
use tokio::sync::OnceCell;
use tsql_formats::marker;

use crate::io::forward::forward_to;

/// Objects of a new store.
pub(crate) struct DeferredCreation {
    inner: Arc<dyn ObjectStore>,
    /// Content of the marker, which makes a folder a store.
    marker: Bytes,
    created: OnceCell<()>,
    /// Called when this process has created the store.
    report: Box<dyn Fn() + Send + Sync>,
}

impl DeferredCreation {
    pub(crate) fn new(
        inner: Arc<dyn ObjectStore>,
        marker: Vec<u8>,
        report: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner,
            marker: marker.into(),
            created: OnceCell::new(),
            report: Box::new(report),
        }
    }

    /// Returns whether this process has created the store, or found it.
    pub(crate) fn is_created(&self) -> bool {
        self.created.initialized()
    }

    /// Creates the store, unless it exists.
    pub(crate) async fn create(&self) -> Result<()> {
        let created = self.created.get_or_try_init(async || {
            let payload = PutPayload::from(self.marker.clone());
            let path = Path::from(marker::NAME);
            let put = self.inner.put_opts(&path, payload, PutMode::Create.into());
            match put.await {
                Ok(_) => (self.report)(),
                // Another process has created it meanwhile.
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error),
            }
            Ok(())
        });
        created.await.copied()
    }
}

impl fmt::Debug for DeferredCreation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl fmt::Display for DeferredCreation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, formatter)
    }
}

#[async_trait::async_trait]
impl ObjectStore for DeferredCreation {
    // Readers of logs need the order of `list_with_offset`, which the default does not have.
    forward_to!(
        inner: get_opts, get_ranges, delete_stream, list, list_with_offset, list_with_delimiter
    );

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.create().await?;
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.create().await?;
        self.inner.put_multipart_opts(location, options).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.create().await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.create().await?;
        self.inner.rename_opts(from, to, options).await
    }
}
