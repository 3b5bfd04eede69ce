//! Buckets, in a build that has none.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

use super::guard::Guard;
use super::tails::Tails;
use tsql_error::{Error, Result};

/// Says so.
pub(super) async fn open(_: &str, _: Path) -> Result<(Arc<dyn ObjectStore>, Tails, Guard)> {
    let reason = "this build of tsql reads no buckets\nhint: one with the feature `s3` does";
    Err(Error::Unsupported(reason.to_owned()))
}
