//! Checksums of output files.

use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use sha2::{Digest as _, Sha256};

use super::checksums::hex;
use crate::Location;
use tsql_error::{Error, Result};

/// Returns checksum and size of a file. `None` if it does not exist.
pub async fn hash_file(
    location: &Location,
    path: &str,
    tell: &(impl Fn(usize) + Sync),
) -> Result<Option<(String, u64)>> {
    let found = match location.objects().get(&Path::from(path)).await {
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        found => found.map_err(Error::Storage)?,
    };
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut stream = found.into_stream();
    while let Some(part) = stream.try_next().await.map_err(Error::Storage)? {
        hash.update(&part);
        bytes += part.len() as u64;
        tell(part.len());
    }
    Ok(Some((hex(&hash.finalize()), bytes)))
}
