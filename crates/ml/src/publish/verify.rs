//! Verification of a publication against its checksums.

use futures::{StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_store::Location;
use tsql_store::atomic_output::{CHECKSUMS, hash_file, is_unfinished, list_files, parse};

/// Number of files that are read concurrently.
const AT_ONCE: usize = 4;

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of unchanged files.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Missing files.
    pub missing: Vec<String>,
    /// Files with changed bytes.
    pub changed: Vec<String>,
    /// Files that were not published.
    pub additional: Vec<String>,
}

impl VerifyReport {
    /// Returns whether all published files are unchanged, and there are no others.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty() && self.additional.is_empty()
    }
}

/// Reads all files of the publication in a directory, a bucket or on a web server, and compares them with their
/// checksums. `progress` is called repeatedly with the number of bytes read. Hidden files (`.git`) are ignored. Files on a
/// web server cannot be listed, so additional ones are not found.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path().join("published").to_string_lossy().into_owned();
/// let store = tsql_dataset::demo::create_demo().await?;
/// tsql_ml::publish::publish(&store, &folder, &tsql_ml::publish::PublishOptions::default()).await?;
/// let verified = tsql_ml::publish::verify_publication(&folder, |_| ()).await?;
/// assert!(verified.is_whole() && verified.file_count > 3);
/// # Ok::<(), tsql_error::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// [`Error::Source`] if there is no publication, or an interrupted one; [`Error::Storage`].
pub async fn verify_publication(
    at: &str,
    progress: impl Fn(u64) + Send + Sync,
) -> Result<VerifyReport> {
    let location = Location::open(at).await?;
    let nothing = |reason: &str| Error::Source {
        location: at.to_owned(),
        reason: reason.to_owned(),
    };
    if is_unfinished(&location).await? {
        let reason =
            "the publication is being written, or was interrupted\nhint: run `tsql publish` again";
        return Err(nothing(reason));
    }
    let Some(list) = location.read(CHECKSUMS).await? else {
        let reason =
            "it is not a publication, expected SHA256SUMS\nhint: `tsql publish` creates one";
        return Err(nothing(reason));
    };
    let mut entries = parse(&list)?;
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let mut verified = VerifyReport::default();
    let read = std::sync::atomic::AtomicU64::new(0);
    let tell = |bytes: usize| {
        let bytes = bytes as u64;
        let all = read.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed) + bytes;
        progress(all);
    };
    let (location, tell) = (&location, &tell);
    let hashes = futures::stream::iter(&entries)
        .map(|entry| async move {
            Ok::<_, Error>((entry, hash_file(location, &entry.path, tell).await?))
        })
        .buffered(AT_ONCE);
    let mut hashes = std::pin::pin!(hashes);
    while let Some((entry, found)) = hashes.try_next().await? {
        match found {
            None => verified.missing.push(entry.path.clone()),
            Some((sha256, bytes)) if sha256 == entry.sha256 => {
                verified.file_count += 1;
                verified.bytes += bytes;
            }
            Some(_) => verified.changed.push(entry.path.clone()),
        }
    }
    if !at.starts_with("http") {
        let paths = list_files(location)
            .await?
            .into_iter()
            .map(|(path, _)| path);
        let is_known = |path: &String| {
            path == CHECKSUMS
                || entries
                    .binary_search_by(|entry| entry.path.cmp(path))
                    .is_ok()
        };
        verified.additional = paths.filter(|path| !is_known(path)).collect();
    }
    Ok(verified)
}
