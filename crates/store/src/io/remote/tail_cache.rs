//! Disk cache of immutable data: tails of data files (footers, page indexes, pre-aggregates), and log files.
//!
//! One request fetches a tail, for all processes. Later reads do not contact the server.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, Result};

use super::cache;

/// Bytes at the end of a data file that are cached. A smaller file is cached whole.
pub(super) const TAIL_BYTES: u64 = 256 << 10;

/// Maximum size of a log file that is cached whole. Checkpoints list all data files.
pub(super) const LOG_BYTES: u64 = 32 << 20;

/// Folder of the cached tails.
const FOLDER: &str = "tails";

/// Maximum size of the cache in bytes. The oldest tails are evicted first.
const KEPT_BYTES: u64 = 1 << 30;

/// Cached tails of the files of an object store.
#[derive(Debug)]
pub(super) struct TailCache {
    /// Unique name of the object store.
    name: String,
    folder: Option<PathBuf>,
    /// Files that may be cached.
    known: Mutex<HashMap<Path, TrackedFile>>,
    /// Whether old tails were evicted already.
    pruned: AtomicBool,
}

/// An immutable file.
#[derive(Clone, Debug)]
struct TrackedFile {
    size: u64,
    /// Maximum number of bytes of its tail that are cached.
    most: u64,
    /// Distinguishes it from another file with the same name and size.
    version: String,
    /// Locked while its tail is fetched.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

impl TailCache {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            folder: cache::cache_folder(FOLDER),
            known: Mutex::default(),
            pruned: AtomicBool::new(false),
        }
    }

    /// Tracks an immutable file, of which up to `most` bytes at the end are cached. `version` distinguishes it from a
    /// later file of the same name.
    pub(super) fn track(&self, path: Path, size: u64, most: u64, version: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &TrackedFile| known.size == size && known.version == version;
        if !known.get(&path).is_some_and(is_same) {
            let version = version.to_owned();
            let fetching = Arc::default();
            known.insert(
                path,
                TrackedFile {
                    size,
                    most,
                    version,
                    fetching,
                },
            );
        }
    }

    /// Returns the size of a file that is cached whole.
    pub(super) fn whole_size(&self, path: &Path) -> Option<u64> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(path)?;
        (known.size <= known.most).then_some(known.size)
    }

    /// Evicts the cached tail of a file. Returns false if there is none.
    pub(super) fn evict(&self, path: &Path) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(known), Some(folder)) = (known.get(path), &self.folder) else {
            return false;
        };
        std::fs::remove_file(folder.join(cache::hashed_name(&self.key(path, known)))).is_ok()
    }

    fn key(&self, path: &Path, known: &TrackedFile) -> String {
        format!("{}\n{path}\n{}\n{}", self.name, known.size, known.version)
    }

    /// Returns a range from the cached tail of a file, which is fetched from `objects` on first use. Returns
    /// `None` if the range is not within the tail.
    pub(super) async fn range(
        &self,
        objects: &dyn ObjectStore,
        path: &Path,
        range: &Range<u64>,
    ) -> Result<Option<Bytes>> {
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(path).cloned()
        };
        let (Some(known), Some(folder)) = (known, &self.folder) else {
            return Ok(None);
        };
        let begin = known.size.saturating_sub(known.most);
        if range.start < begin || range.end > known.size || range.is_empty() {
            return Ok(None);
        }
        let key = self.key(path, &known);
        let file = folder.join(cache::hashed_name(&key));
        let _fetching = known.fetching.lock().await;
        let tail = match read_cached_tail(&file, &key, known.size - begin) {
            Some(tail) => tail,
            None => {
                let tail = objects.get_range(path, begin..known.size).await?;
                let prune = !self.pruned.swap(true, Ordering::Relaxed);
                // A full disk is not an error: the tail is fetched again later.
                let _ = write_cached_tail(&file, &key, &tail, prune);
                tail
            }
        };
        let at = |place: u64| usize::try_from(place - begin).unwrap_or(usize::MAX);
        let (start, end) = (at(range.start), at(range.end));
        Ok((tail.len() >= end).then(|| tail.slice(start..end)))
    }
}

/// Returns the tail in a cache file, if the file is complete and belongs to `key`.
fn read_cached_tail(file: &FilePath, key: &str, length: u64) -> Option<Bytes> {
    let bytes = Bytes::from(std::fs::read(file).ok()?);
    let (tail, hash) = bytes.split_last_chunk::<8>()?;
    let whole = tail.len() as u64 == length && keyed_hash(key, tail) == *hash;
    whole.then(|| bytes.slice(..bytes.len() - 8))
}

/// Returns a hash over key and bytes. It detects swapped cache files as well.
fn keyed_hash(key: &str, bytes: &[u8]) -> [u8; 8] {
    let key = twox_hash::XxHash3_64::oneshot(key.as_bytes());
    twox_hash::XxHash3_64::oneshot_with_seed(key, bytes).to_le_bytes()
}

/// Writes the file atomically.
fn write_cached_tail(file: &FilePath, key: &str, bytes: &[u8], prune: bool) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(FilePath::new("."));
    std::fs::create_dir_all(folder)?;
    if prune {
        evict_oldest(folder)?;
    }
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.write_all(&keyed_hash(key, bytes))?;
    new.persist(file)?;
    Ok(())
}

fn evict_oldest(folder: &FilePath) -> std::io::Result<()> {
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        // Files with other names do not belong to the cache.
        if !about.is_file() || !tsql_folders::is_hash(&entry.file_name()) {
            continue;
        }
        kept.push((about.modified()?, about.len(), entry.path()));
    }
    let mut sum: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
    kept.sort();
    for (_, bytes, path) in kept {
        if sum <= KEPT_BYTES {
            break;
        }
        std::fs::remove_file(path)?;
        sum -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn an_end_is_fetched_once_and_never_believed_when_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let objects = InMemory::new();
        let path = Path::from("a/b.parquet");
        let body: Vec<u8> = (0..300_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        objects.put(&path, body.clone().into()).await.unwrap();
        let tails = TailCache {
            folder: Some(folder.path().join("tails")),
            ..TailCache::new("here")
        };
        let size = body.len() as u64;
        assert_eq!(
            tails
                .range(&objects, &path, &(size - 8..size))
                .await
                .unwrap(),
            None
        );
        tails.track(path.clone(), size, TAIL_BYTES, "");
        let ask = async |range: Range<u64>| tails.range(&objects, &path, &range).await;
        assert_eq!(ask(0..8).await.unwrap(), None, "that is not its end");
        let expected = Bytes::from(body[299_000..].to_vec());
        assert_eq!(ask(299_000..size).await.unwrap().unwrap(), expected);
        // From here on, no requests are sent.
        objects.delete(&path).await.unwrap();
        assert_eq!(ask(299_000..size).await.unwrap().unwrap(), expected);
        let file = std::fs::read_dir(folder.path().join("tails"))
            .unwrap()
            .next()
            .unwrap();
        let file = file.unwrap().path();
        let mut damaged = std::fs::read(&file).unwrap();
        damaged[1000] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        assert!(
            ask(299_000..size).await.is_err(),
            "the server is asked, and has it no more"
        );
    }

    #[tokio::test]
    async fn ends_that_were_exchanged_are_never_believed() {
        let folder = tempfile::tempdir().unwrap();
        let objects = InMemory::new();
        let tails = TailCache {
            folder: Some(folder.path().join("tails")),
            ..TailCache::new("here")
        };
        let paths = ["a", "b"].map(Path::from);
        for (path, body) in paths.iter().zip(["one of them", "two of them"]) {
            objects.put(path, body.into()).await.unwrap();
            tails.track(path.clone(), 11, TAIL_BYTES, "");
        }
        let ask = async || {
            let mut found = Vec::new();
            for path in &paths {
                found.push(tails.range(&objects, path, &(0..11)).await.unwrap());
            }
            found
        };
        let before = ask().await;
        assert!(tails.evict(&paths[0]) && !tails.evict(&paths[0]));
        assert_eq!(ask().await, before);
        let files = std::fs::read_dir(folder.path().join("tails")).unwrap();
        let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let bytes: Vec<Vec<u8>> = files
            .iter()
            .map(|file| std::fs::read(file).unwrap())
            .collect();
        for (file, bytes) in files.iter().zip(bytes.iter().rev()) {
            std::fs::write(file, bytes).unwrap();
        }
        assert_eq!(ask().await, before);
    }
}
