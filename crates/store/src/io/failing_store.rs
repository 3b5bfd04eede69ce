//! In-memory object store whose writes a test can delay or fail.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, PutOptions, PutPayload, PutResult, Result};

use crate::io::forward::forward_to;

/// Called before each write of an object.
pub type Hook = Box<dyn Fn(&Path) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// In-memory objects, and the hook before each write.
pub struct FailingStore {
    pub inner: Arc<InMemory>,
    pub hook: Hook,
}

impl fmt::Debug for FailingStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FailingStore")
    }
}

impl fmt::Display for FailingStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("hooked")
    }
}

#[async_trait::async_trait]
impl ObjectStore for FailingStore {
    forward_to!(
        inner: put_multipart_opts, get_opts, delete_stream, list, list_with_delimiter, copy_opts
    );

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        (self.hook)(location).await?;
        self.inner.put_opts(location, payload, options).await
    }
}
