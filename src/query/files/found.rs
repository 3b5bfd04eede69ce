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
    /// The files are those that DataFusion's own listing of `url` finds.
    pub(super) is_listing: bool,
}

impl Found {
    /// Returns the URL of one of the files.
    pub(super) fn url_of(&self, file: &ObjectMeta) -> Url {
        let mut url = self.url.get_url().clone();
        // The path of a URL is decoded, and `%` is the only character that `set_path` does not encode.
        url.set_path(&file.location.as_ref().replace('%', "%25"));
        url
    }
}

/// Files below a URL: those that match its pattern, where `*` is a part of one name and `**` any folders; without a
/// pattern those of the folder, or of its subfolders if it has none itself. Hidden ones (`.crc`, `_SUCCESS`) are left out.
async fn below(
    url: &ListingTableUrl,
    objects: &Arc<dyn ObjectStore>,
) -> Result<(Vec<ObjectMeta>, bool), DataFusionError> {
    let prefix = (!url.prefix().as_ref().is_empty()).then(|| url.prefix());
    let all: Vec<ObjectMeta> = objects.list(prefix).try_collect().await?;
    let segments = |file: &ObjectMeta| -> Vec<String> {
        let segments = url.strip_prefix(&file.location).into_iter().flatten();
        segments.map(str::to_owned).collect()
    };
    let options = glob::MatchOptions {
        require_literal_separator: true,
        ..glob::MatchOptions::new()
    };
    let is_meant = |file: &ObjectMeta| match url.get_glob() {
        Some(pattern) => {
            url.contains(&file.location, true)
                || pattern.matches_with(&segments(file).join("/"), options)
        }
        None => true,
    };
    let is_hidden = |file: &ObjectMeta| {
        segments(file)
            .iter()
            .any(|name| name.starts_with(['.', '_']))
    };
    let listed = all.iter().filter(|file| url.contains(&file.location, true));
    let listed = listed.count();
    let mut files: Vec<ObjectMeta> = all.into_iter().filter(is_meant).collect();
    files.retain(|file| !is_hidden(file));
    if url.get_glob().is_none() && files.iter().any(|file| url.contains(&file.location, true)) {
        files.retain(|file| url.contains(&file.location, true));
    }
    let is_listing =
        files.len() == listed && files.iter().all(|file| url.contains(&file.location, true));
    Ok((files, is_listing))
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
    let (mut files, is_listing) = if url.is_collection() {
        below(&url, &objects).await?
    } else {
        let listed = url.list_all_files(session, &objects, "").await?;
        (listed.try_collect().await?, true)
    };
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
        is_listing,
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
