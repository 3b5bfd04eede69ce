//! Replacement for buckets in a build without them.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

use super::guard::WriteGuard;
use super::tail_cache::TailCache;
use tsql_error::{Error, Result};

/// Returns an error: this build does not support buckets.
pub(super) async fn open(
    _: &str,
    _: Path,
) -> Result<(Arc<dyn ObjectStore>, TailCache, WriteGuard)> {
    let reason =
        "this build of tsql does not support buckets\nhint: use a build with the feature `s3`";
    Err(Error::Unsupported(reason.to_owned()))
}
