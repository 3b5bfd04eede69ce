//! Which files a path, a pattern, a folder or a URL means.

use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use futures::TryStreamExt as _;
use object_store::{ObjectMeta, ObjectStore};
use url::Url;

use super::kind::named;
use crate::error::{Error, with_near_file};
use crate::store::{SCHEMES, objects_at};

/// What makes a name a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Files that were meant.
pub(super) struct Found {
    pub(super) url: ListingTableUrl,
    pub(super) objects: Arc<dyn ObjectStore>,
    /// At least one, without those that are hidden (`.crc`, `_SUCCESS`).
    pub(super) files: Vec<ObjectMeta>,
    /// There are such.
    pub(super) has_hidden: bool,
}

/// An error that says what is wrong with a path.
pub(super) fn wrong(path: &str, reason: impl Into<String>) -> DataFusionError {
    DataFusionError::External(Box::new(Error::Source {
        location: path.to_owned(),
        reason: reason.into(),
    }))
}

/// The files that `path` means; `None` where it means none and looks like the name of a table.
pub(super) async fn found(
    session: &dyn Session,
    path: &str,
) -> Result<Option<Found>, DataFusionError> {
    let is_remote = path.contains("://");
    let is_pattern = path.contains(PATTERN) && !Path::new(path).exists();
    if !is_remote && !is_pattern && !Path::new(path).exists() {
        let is_file = path.contains(['/', '\\']) || named(path).is_some();
        return if is_file {
            Err(missing(path))
        } else {
            Ok(None)
        };
    }
    let url = if is_remote {
        remote(session, path).await?
    } else {
        ListingTableUrl::parse(path)?
    };
    let objects = session.runtime_env().object_store(&url)?;
    let listed = url.list_all_files(session, &objects, "").await?;
    let mut files: Vec<ObjectMeta> = listed.try_collect().await?;
    let below = |file: &ObjectMeta| {
        let mut parts = url.strip_prefix(&file.location).into_iter().flatten();
        !parts.any(|part| part.starts_with(['.', '_']))
    };
    let listed = files.len();
    if url.is_collection() || url.get_glob().is_some() {
        files.retain(below);
    }
    let has_hidden = files.len() < listed;
    files.sort_by(|one, other| one.location.cmp(&other.location));
    if files.is_empty() {
        let reason = match is_pattern {
            true => "no file has a name like that",
            false if is_remote => "there is no such file",
            false => "the folder has no files",
        };
        return Err(wrong(path, reason));
    }
    let url = if is_remote
        && !url.is_collection()
        && files.iter().all(|file| file.location != *url.prefix())
    {
        // A folder of a bucket that was named without a slash at its end.
        ListingTableUrl::parse(format!("{path}/"))?
    } else {
        url
    };
    Ok(Some(Found {
        url,
        objects,
        files,
        has_hidden,
    }))
}

/// The URL of files elsewhere, whose bucket or server is made known to the session.
async fn remote(session: &dyn Session, path: &str) -> Result<ListingTableUrl, DataFusionError> {
    let (base, pattern) = match path.find(['*', '[']) {
        Some(at) => {
            let slash = path.get(..at).and_then(|before| before.rfind('/'));
            path.split_at(slash.map_or(at, |slash| slash + 1))
        }
        None => (path, ""),
    };
    let url = ListingTableUrl::parse(base)?;
    let mut root: Url = url.get_url().clone();
    root.set_path("/");
    if SCHEMES.contains(&root.scheme()) && session.runtime_env().object_store(&url).is_err() {
        let objects = objects_at(&root).await;
        let objects = objects.map_err(|error| DataFusionError::External(Box::new(error)))?;
        session.runtime_env().register_object_store(&root, objects);
    }
    if pattern.is_empty() {
        Ok(url)
    } else {
        url.with_glob(pattern)
    }
}

/// No such file, and the one beside it that may be meant.
pub(super) fn missing(path: &str) -> DataFusionError {
    let folder = Path::new(path).parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return wrong(path, "there is no such folder");
    }
    wrong(
        path,
        with_near_file(path, "there is no such file".to_owned()),
    )
}
