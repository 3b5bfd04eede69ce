//! Resolution of a path, pattern, folder or URL to files.

use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use futures::TryStreamExt as _;
use object_store::{ObjectMeta, ObjectStore};
use tsql_formats::{DetectedFormat, FileHandle};
use url::Url;

use super::kind::kind_from_name;
use tsql_error::{Error, with_similar_file};
use tsql_store::{SCHEMES, objects_at};

/// Characters that make a path a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// The files of a path, pattern, folder or URL.
pub(super) struct FileListing {
    pub(super) url: ListingTableUrl,
    pub(super) objects: Arc<dyn ObjectStore>,
    /// At least one file, without hidden files (`.crc`, `_SUCCESS`).
    pub(super) files: Vec<ObjectMeta>,
    /// Whether these are the files that DataFusion's listing of `url` finds.
    pub(super) is_listing: bool,
}

impl FileListing {
    /// Returns the URL of one of the files.
    pub(super) fn url(&self, file: &ObjectMeta) -> Url {
        let mut url = self.url.get_url().clone();
        // The path of an object is decoded, and `%` is the only character that `set_path` does not encode.
        url.set_path(&file.location.as_ref().replace('%', "%25"));
        url
    }

    /// Returns the description of a local file if its format is one that an ingest reads.
    pub(super) fn log_format(&self, file: &ObjectMeta) -> Option<&'static str> {
        let path = self.url(file).to_file_path().ok()?;
        let (format, _) = FileHandle::open(&path).ok()?.detect_format().ok()?;
        match format {
            DetectedFormat::Log(dialect) => Some(dialect.description()),
            DetectedFormat::Document(document) => Some(document.description()),
            _ => None,
        }
    }
}

/// Lists files below a URL, and whether DataFusion's listing would find the same.
///
/// With a pattern these are the matching files: `*` matches a part of one name, `**` any folders. Without one these are
/// the files of the folder, or of its subfolders if it contains no file itself. Hidden files (`.crc`, `_SUCCESS`) are
/// skipped.
async fn list_files(
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

/// Error for an invalid path, with the reason.
pub(super) fn invalid_path(path: &str, reason: impl Into<String>) -> DataFusionError {
    DataFusionError::External(Box::new(Error::Source {
        location: path.to_owned(),
        reason: reason.into(),
    }))
}

/// Resolves `path` to files; `None` if there are none and the path looks like a table name.
pub(super) async fn resolve(
    session: &dyn Session,
    path: &str,
) -> Result<Option<FileListing>, DataFusionError> {
    let is_remote = path.contains("://");
    let is_pattern = path.contains(PATTERN) && !Path::new(path).exists();
    if !is_remote && !is_pattern && !Path::new(path).exists() {
        let is_file = path.contains(['/', '\\']) || kind_from_name(path).is_some();
        return if is_file {
            Err(missing_file(path))
        } else {
            Ok(None)
        };
    }
    let url = if is_remote {
        remote_url(session, path).await?
    } else {
        ListingTableUrl::parse(path)?
    };
    let objects = session.runtime_env().object_store(&url)?;
    let (mut files, is_listing) = if url.is_collection() {
        list_files(&url, &objects).await?
    } else {
        let listed = url.list_all_files(session, &objects, "").await?;
        (listed.try_collect().await?, true)
    };
    files.sort_by(|one, other| one.location.cmp(&other.location));
    if files.is_empty() {
        let reason = match is_pattern {
            true => "no file matches the pattern",
            false if is_remote => "the file does not exist",
            false => "the folder has no files",
        };
        return Err(invalid_path(path, reason));
    }
    let url = if is_remote
        && !url.is_collection()
        && files.iter().all(|file| file.location != *url.prefix())
    {
        // A folder in a bucket, written without a trailing slash.
        ListingTableUrl::parse(format!("{path}/"))?
    } else {
        url
    };
    Ok(Some(FileListing {
        url,
        objects,
        files,
        is_listing,
    }))
}

/// URL of remote files. Registers their bucket or server in the session.
async fn remote_url(session: &dyn Session, path: &str) -> Result<ListingTableUrl, DataFusionError> {
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

/// Error for a missing file, with a similar name from the same folder as a hint.
pub(super) fn missing_file(path: &str) -> DataFusionError {
    let folder = Path::new(path).parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return invalid_path(path, "the folder does not exist");
    }
    invalid_path(
        path,
        with_similar_file(path, "the file does not exist".to_owned()),
    )
}
