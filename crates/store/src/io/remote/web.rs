//! Listings for web servers, which have none: a table's log is found by requesting its files.
//!
//! Log versions are contiguous from the last checkpoint on, and a small file names that checkpoint.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt as _, Result};
use serde::Deserialize;

use crate::log_files::entries::{FOLDER, LAST_CHECKPOINT, checkpoint_name, entry_name};

/// Maximum number of concurrent requests.
const ASKED: usize = 8;

#[derive(Deserialize)]
struct LastCheckpoint {
    version: u64,
}

/// Lists the files of the log in `folder` after `offset`, as a stream. Files of other folders are not included.
pub(super) fn list_log(
    objects: Arc<dyn ObjectStore>,
    folder: Option<Path>,
    offset: Option<Path>,
) -> BoxStream<'static, Result<ObjectMeta>> {
    let listed = async move {
        let found = list(&objects, &folder.unwrap_or_default(), offset.as_ref()).await?;
        let found = futures::stream::iter(found.into_iter().map(Ok));
        Ok::<_, Error>(found)
    };
    futures::stream::once(listed).try_flatten().boxed()
}

async fn list(
    objects: &Arc<dyn ObjectStore>,
    folder: &Path,
    offset: Option<&Path>,
) -> Result<Vec<ObjectMeta>> {
    if folder.filename() != Some(FOLDER) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let checkpoint = last_checkpoint(objects, folder).await?;
    let mut version = checkpoint.unwrap_or(0);
    if checkpoint.is_some() {
        let name = checkpoint_name(version);
        found.extend(head(objects, folder.clone().join(name)).await?);
    }
    loop {
        let asked = (version..).take(ASKED).map(|version| {
            let path = folder.clone().join(entry_name(version));
            head(objects, path)
        });
        let answers: Vec<_> = futures::stream::iter(asked).buffered(ASKED).collect().await;
        for answer in answers {
            match answer? {
                Some(commit) => found.push(commit),
                // A clean-up may have removed the commit of the checkpoint.
                None if checkpoint == Some(version) => {}
                None => {
                    found.retain(|file| offset.is_none_or(|offset| file.location > *offset));
                    found.sort_by(|a, b| a.location.cmp(&b.location));
                    return Ok(found);
                }
            }
            version += 1;
        }
    }
}

async fn last_checkpoint(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Result<Option<u64>> {
    match objects.get(&folder.clone().join(LAST_CHECKPOINT)).await {
        Ok(found) => {
            let text = found.bytes().await?;
            let last: LastCheckpoint =
                serde_json::from_slice(&text).map_err(|error| Error::Generic {
                    store: "HTTP",
                    source: format!("{folder}/{LAST_CHECKPOINT}: {error}").into(),
                })?;
            Ok(Some(last.version))
        }
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn head(objects: &Arc<dyn ObjectStore>, path: Path) -> Result<Option<ObjectMeta>> {
    match objects.head(&path).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
