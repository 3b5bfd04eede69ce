//! Buckets, in a build that has none.

use object_store::path::Path;

use super::Remote;
use crate::error::{Error, Result};

/// Says so.
pub(super) async fn open(_: &str, _: Path) -> Result<Remote> {
    let reason = "this build of tsql reads no buckets\nhint: one with the feature `s3` does";
    Err(Error::Usage(reason.to_owned()))
}
