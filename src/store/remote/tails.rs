//! Ends of data files, kept on the local disk: footers, indexes of pages, sums of rows.
//!
//! A data file never changes, so its end is fetched once and then for good, by whichever process
//! asks first. One request brings all of it.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, Result};

use super::cache;

/// Bytes at the end of a file that are kept.
const TAIL_BYTES: u64 = 256 << 10;

/// Folder of the kept ends in the cache.
const FOLDER: &str = "tails";

/// Bytes of ends that are kept at most; the oldest go first.
const KEPT_BYTES: u64 = 1 << 30;

/// The kept ends of the files of an object store.
#[derive(Debug)]
pub(super) struct Tails {
    /// What tells this store from others.
    name: String,
    /// Sizes of the files that may be kept.
    sizes: Mutex<HashMap<Path, u64>>,
    folder: Option<PathBuf>,
    /// Ends being fetched or read at the moment, one lock for each file.
    open: Mutex<HashMap<Path, Arc<tokio::sync::Mutex<Option<Bytes>>>>>,
}

impl Tails {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            sizes: Mutex::default(),
            folder: cache::folder(FOLDER),
            open: Mutex::default(),
        }
    }

    /// Remembers the size of a file that will never change.
    pub(super) fn know(&self, path: Path, size: u64) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.insert(path, size);
    }

    /// The range from the kept end of a file, which is fetched from `objects` where it is new;
    /// `None` where the range is not within it.
    pub(super) async fn range(
        &self,
        objects: &dyn ObjectStore,
        path: &Path,
        range: &Range<u64>,
    ) -> Result<Option<Bytes>> {
        let size = {
            let sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            sizes.get(path).copied()
        };
        let Some(size) = size else { return Ok(None) };
        let begin = size.saturating_sub(TAIL_BYTES);
        if range.start < begin || range.end > size {
            return Ok(None);
        }
        let open = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(open.entry(path.clone()).or_default())
        };
        let mut tail = open.lock().await;
        if tail.is_none() {
            *tail = Some(self.tail(objects, path, begin..size).await?);
        }
        let at = |place: u64| usize::try_from(place - begin).unwrap_or(usize::MAX);
        Ok(tail
            .as_ref()
            .filter(|tail| tail.len() >= at(range.end))
            .map(|tail| tail.slice(at(range.start)..at(range.end))))
    }

    async fn tail(
        &self,
        objects: &dyn ObjectStore,
        path: &Path,
        range: Range<u64>,
    ) -> Result<Bytes> {
        let length = range.end - range.start;
        let key = format!("{}\n{path}\n{}", self.name, range.end);
        let file = self
            .folder
            .as_ref()
            .map(|folder| folder.join(cache::hash(&key)));
        if let Some(kept) = file.as_ref().and_then(|file| std::fs::read(file).ok())
            && kept.len() as u64 == length
        {
            return Ok(Bytes::from(kept));
        }
        let tail = objects.get_range(path, range).await?;
        if let Some(file) = file {
            // A full disk is no reason to fail: the end is read again then.
            let _ = keep(&file, &tail);
        }
        Ok(tail)
    }
}

/// Writes the file at once or not at all; makes room before.
fn keep(file: &FilePath, bytes: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(FilePath::new("."));
    std::fs::create_dir_all(folder)?;
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
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
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.persist(file)?;
    Ok(())
}
