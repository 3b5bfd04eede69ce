//! Concurrent prefetch of a log from a remote store, where each request is a round trip.
//!
//! ```text
//! reader:     last checkpoint ─▶ list newer entries ─▶ their contents ─▶ the checkpoint ─▶ the newest entry
//! prefetch:   list all ─▶ the newest checkpoint, and all entries since then
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use deltalake_core::logstore::{LogStoreRef, StorageConfig, logstore_with};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attributes, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, Result,
};

use super::{Log, LogListing, log_error};
use crate::io::forward::forward_to;
use crate::log_files::entries::{LAST_CHECKPOINT, checkpoint_version, entry_version};
use tsql_error::Error;

/// Number of files that a bucket lists in one response. Logs with more files are read through `_last_checkpoint`.
const LISTED: usize = 1000;

/// Maximum number of prefetched files. Ten entries follow a checkpoint, more with other writers.
const FILES: usize = 32;

/// Maximum size of a prefetched file in bytes.
const FILE_BYTES: u64 = 16 << 20;

impl Log {
    /// Lists a remote log, and reads its newest version.
    pub(super) async fn prefetch(&self) -> tsql_error::Result<LogListing> {
        let Some(folder) = &self.far else {
            return Ok(LogListing::Unknown);
        };
        let root = self.log_store.root_object_store(None);
        let listed = root.list(Some(folder)).take(LISTED).try_collect().await;
        let mut files: Vec<ObjectMeta> = listed.map_err(Error::Storage)?;
        if files.is_empty() {
            return Ok(LogListing::Nothing);
        }
        if files.len() == LISTED {
            return Ok(LogListing::Unknown);
        }
        files.sort_unstable_by(|one, other| one.location.cmp(&other.location));
        let read = read(root.as_ref(), newest_version_files(&files)).await;
        self.with_files(folder, files, read).map(LogListing::Ahead)
    }

    /// Returns the log as if its folder had only these files, sorted by name. The contents in `read` are not read
    /// again.
    pub(super) fn with_files(
        &self,
        folder: &Path,
        files: Vec<ObjectMeta>,
        read: HashMap<Path, Bytes>,
    ) -> tsql_error::Result<LogStoreRef> {
        let ahead = PrefetchedLog {
            read,
            last_checkpoint: folder.clone().join(LAST_CHECKPOINT),
            folder: folder.clone(),
            files,
            root: self.log_store.root_object_store(None),
        };
        let location = self.log_store.config().location();
        let log_store = logstore_with(Arc::new(ahead), location, StorageConfig::default());
        log_store.map_err(|error| log_error(self.table, error))
    }
}

/// Returns the files of the newest version: the last checkpoint, its entry, and later entries.
fn newest_version_files(files: &[ObjectMeta]) -> Vec<&ObjectMeta> {
    let name = |file: &ObjectMeta| file.location.filename().map(str::to_owned);
    let numbered = |number: fn(&str) -> Option<u64>| {
        let numbered = files.iter().rev();
        numbered.filter_map(move |file| Some((number(&name(file)?)?, file)))
    };
    let checkpoint = numbered(checkpoint_version).next();
    let since = checkpoint.map_or(0, |(version, _)| version);
    let entries = numbered(entry_version).take_while(|(version, _)| *version >= since);
    let files = checkpoint.into_iter().chain(entries);
    let files = files.filter(|(_, file)| file.size <= FILE_BYTES);
    files.map(|(_, file)| file).take(FILES).collect()
}

/// Reads files concurrently. Missing files are omitted; a reader that needs one requests it.
async fn read(root: &dyn ObjectStore, files: Vec<&ObjectMeta>) -> HashMap<Path, Bytes> {
    let read = files.into_iter().map(|file| async {
        let bytes = root.get(&file.location).await.ok()?.bytes().await.ok()?;
        Some((file.location.clone(), bytes))
    });
    let read = futures::future::join_all(read).await;
    read.into_iter().flatten().collect()
}

/// Object store with a fixed listing of a log.
#[derive(Debug)]
struct PrefetchedLog {
    root: Arc<dyn ObjectStore>,
    folder: Path,
    last_checkpoint: Path,
    /// Sorted by name.
    files: Vec<ObjectMeta>,
    read: HashMap<Path, Bytes>,
}

impl PrefetchedLog {
    /// Lists the files after `offset`.
    fn list_after(&self, offset: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let after = |file: &&ObjectMeta| offset.is_none_or(|offset| file.location > *offset);
        let files: Vec<_> = self.files.iter().filter(after).cloned().map(Ok).collect();
        futures::stream::iter(files).boxed()
    }
}

impl fmt::Display for PrefetchedLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Ahead({})", self.root)
    }
}

#[async_trait::async_trait]
impl ObjectStore for PrefetchedLog {
    forward_to!(root: put_opts, put_multipart_opts, delete_stream, list_with_delimiter, copy_opts);

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if *location == self.last_checkpoint {
            return Err(object_store::Error::NotFound {
                path: location.to_string(),
                source: "the listing shows which is the last".into(),
            });
        }
        let found = self.read.get(location);
        let found = found.filter(|_| options.if_match.is_none() && options.if_none_match.is_none());
        let place = self
            .files
            .binary_search_by(|file| file.location.cmp(location));
        let about = place.ok().and_then(|place| self.files.get(place));
        let (Some(bytes), Some(about)) = (found, about) else {
            return self.root.get_opts(location, options).await;
        };
        let all = 0..bytes.len() as u64;
        let range = match options.range {
            None => all,
            Some(GetRange::Bounded(range)) => range.start..range.end.min(all.end),
            Some(GetRange::Offset(start)) => start..all.end,
            Some(GetRange::Suffix(length)) => all.end.saturating_sub(length)..all.end,
        };
        let at = |place: u64| {
            usize::try_from(place)
                .unwrap_or(usize::MAX)
                .min(bytes.len())
        };
        let bytes = bytes.slice(at(range.start).min(at(range.end))..at(range.end));
        Ok(GetResult {
            payload: GetResultPayload::Stream(futures::stream::iter([Ok(bytes)]).boxed()),
            meta: about.clone(),
            range,
            attributes: Attributes::default(),
        })
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match prefix == Some(&self.folder) {
            true => self.list_after(None),
            false => self.root.list(prefix),
        }
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        match prefix == Some(&self.folder) {
            true => self.list_after(Some(offset)),
            false => self.root.list_with_offset(prefix, offset),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use object_store::path::Path;

    use super::*;
    use crate::files::file::{self, Effort};
    use crate::log::Change;
    use crate::{Location, Store};
    use tsql_schema as schema;

    /// Commits one graph.
    pub(crate) async fn add(store: &Store, graph: i64) {
        let table = schema::table("graphs").unwrap();
        let plan = async |_: &crate::Snapshot| {
            let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
            let columns: BTreeMap<&str, ArrayRef> = BTreeMap::from([
                ("graph_id", Arc::new(Int64Array::from(vec![graph])) as _),
                ("dataset", text("tenset")),
                ("workload_key", text("key")),
            ]);
            let rows = [file::batch(table, columns)?];
            let file = file::write(store.location(), table, &[], &rows, Effort::Ingest).await?;
            let add = vec![file];
            Ok(Some(Change {
                add,
                ..Change::default()
            }))
        };
        store.commit("graphs", "test", plan).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_read_ahead_is_the_newest_version() {
        let location = Location::open("memory:").await.unwrap();
        let store = Store::from_location(location, "");
        let table = schema::table("graphs").unwrap();
        let near = Log::new(store.location(), table).unwrap();
        let folder = Path::from("graphs/_delta_log");
        let far = Log {
            far: Some(folder.clone()),
            ..near.clone()
        };
        let root = near.log_store.root_object_store(None);
        assert!(matches!(far.prefetch().await, Ok(LogListing::Nothing)));
        assert!(far.snapshot().await.unwrap().is_none());
        for graph in 1..=23 {
            add(&store, graph).await;
            let newest = near.snapshot().await.unwrap().unwrap();
            let ahead = far.snapshot().await.unwrap().unwrap();
            assert_eq!(newest.version(), ahead.version());
            assert_eq!(newest.files(), ahead.files());
            assert_eq!(ahead.files().len() as u64, ahead.version());
        }
        // Neither files before the last checkpoint nor `_last_checkpoint` are needed.
        let files = root.list(Some(&folder));
        let files: Vec<ObjectMeta> = files.try_collect().await.unwrap();
        let numbered = |number: fn(&str) -> Option<u64>| {
            let files = files.iter().map(|file| file.location.clone());
            files.filter_map(move |file| Some((number(file.filename()?)?, file)))
        };
        let (last_version, checkpoint) = numbered(checkpoint_version).max().unwrap();
        assert!((1..23).contains(&last_version));
        for (_, entry) in numbered(entry_version).filter(|(version, _)| *version <= last_version) {
            root.delete(&entry).await.unwrap();
        }
        let last = folder.clone().join(LAST_CHECKPOINT);
        root.put(&last, "lost".into()).await.unwrap();
        assert!(matches!(far.prefetch().await, Ok(LogListing::Ahead(_))));
        assert_eq!(far.snapshot().await.unwrap().unwrap().files().len(), 23);
        // Without the entries, a damaged checkpoint cannot be replaced.
        let whole = root.get(&checkpoint).await.unwrap().bytes().await.unwrap();
        root.put(&checkpoint, "lost".into()).await.unwrap();
        assert!(far.snapshot().await.is_err());
        root.put(&checkpoint, whole.into()).await.unwrap();
        // More than a page of files: `_last_checkpoint` is read.
        for other in 0..LISTED {
            let other = folder.clone().join(format!("other-{other}"));
            root.put(&other, "x".into()).await.unwrap();
        }
        assert!(matches!(far.prefetch().await, Ok(LogListing::Unknown)));
        root.delete(&last).await.unwrap();
        assert_eq!(far.snapshot().await.unwrap().unwrap().files().len(), 23);
    }
}
