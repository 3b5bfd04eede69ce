//! Commits that neither lose nor duplicate data, with any number of writers.
//!
//! Every attempt is one atomic step in the log. After a conflict the new version is read and the caller examines it
//! again, because its data may be stored already. After a random pause the next attempt follows. All attempts of a
//! change have the same name. If an attempt seemed to fail, the version that it was meant for shows whether it was
//! committed, at once or late.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::Store;
use crate::files::data_file::DataFile;
use crate::log::{Attempt, Change, CommitContext, Log, Snapshot, UNLISTED_AGE};
use tsql_error::{Error, Result};
use tsql_schema as schema;

/// Time after which a writer gives up.
const DEADLINE: Duration = Duration::from_secs(300);

/// Longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Age from which a file is checked before its commit: half of the age of orphaned files.
const OLD: chrono::Duration = chrono::Duration::seconds(UNLISTED_AGE.num_seconds() / 2);

impl Store {
    /// Writes a checkpoint of a table after many changes. Later readers load one log file.
    pub async fn checkpoint(&self, table: &str) -> Result<()> {
        let log = Log::new(self.location(), schema::table(table)?)?;
        log.checkpoint().await
    }

    /// Commits a change of a table. `plan` sees the newest version and returns the change. It is called again after
    /// every conflict. `None` means that nothing is left to do.
    pub async fn commit<F>(&self, table: &str, detail: &str, mut plan: F) -> Result<()>
    where
        F: AsyncFnMut(&Snapshot) -> Result<Option<Change>>,
    {
        self.check_writable()?;
        let log = Log::new(self.location(), schema::table(table)?)?;
        let near = self.location().local_directory().is_some();
        let started = Instant::now();
        let _turn = self.wait_for_turn(table).await;
        let mut pause = Duration::from_millis(5);
        let name = Uuid::new_v4().simple().to_string();
        let mut snapshot = match self.snapshot(table).await? {
            Some(snapshot) => snapshot,
            None => {
                self.report(log.replace_truncated_entry(0).await?);
                log.snapshot_or_create().await?
            }
        };
        self.remember_snapshot(table, &snapshot);
        loop {
            let Some(change) = plan(&snapshot).await? else {
                // The result relies on another writer's commit, which may not be durable yet.
                return log.make_durable(self.location(), snapshot.version()).await;
            };
            self.check_files_exist(table, &change.add).await?;
            let tried = snapshot.version() + 1;
            let about = CommitContext {
                detail,
                name: &name,
                seen: self.seen_versions(table),
                // While there are tags, old versions must stay readable.
                cleans_up: snapshot.may_clean_up()
                    && self.tags().await?.is_empty()
                    // On an error, the clean-up is left to the next commit.
                    && snapshot.has_expired(self.location()).await.unwrap_or(false),
            };
            let failure = match snapshot.commit(&change, about).await {
                Attempt::Committed(new) => {
                    self.remember_snapshot(table, &new);
                    return Ok(());
                }
                Attempt::Conflict => {
                    self.report(log.replace_truncated_entry(tried).await?);
                    None
                }
                // A disk responds definitely. After an error the entry may be visible, but lost after a power failure.
                Attempt::Unclear(error) if near => return Err(log.explain(error).await),
                Attempt::Unclear(error) => Some(error),
            };
            if log.is_version_of_attempt(tried, &name).await? {
                return Ok(());
            }
            let late = started.elapsed() > DEADLINE;
            match failure {
                Some(error) if late || !error.is_transient() => return Err(error),
                None if late => {
                    let seconds = DEADLINE.as_secs();
                    return Err(Error::Contended {
                        table: table.to_owned(),
                        seconds,
                    });
                }
                _ => {}
            }
            tokio::time::sleep(add_jitter(pause)).await;
            pause = (pause * 2).min(MAX_PAUSE);
            snapshot = snapshot.newest().await?;
            self.remember_snapshot(table, &snapshot);
            // A request may be executed late, until another writer has committed that version.
            if snapshot.version() >= tried && log.is_version_of_attempt(tried, &name).await? {
                return Ok(());
            }
        }
    }

    /// Makes a version of a table durable, whoever has written it, so its content can be acknowledged.
    pub async fn make_durable(&self, table: &str, version: u64) -> Result<()> {
        let log = Log::new(self.location(), schema::table(table)?)?;
        log.make_durable(self.location(), version).await
    }

    /// Checks that files exist which are so old that `vacuum` may have deleted them as orphaned. On a local disk all
    /// files are checked, which is cheap.
    async fn check_files_exist(&self, table: &str, files: &[DataFile]) -> Result<()> {
        let local = self.location().local_directory().is_some();
        let now_ms = chrono::Utc::now().timestamp_millis();
        for file in files {
            let age_ms = now_ms.saturating_sub(file.written_at_ms);
            if (local || age_ms > OLD.num_milliseconds())
                && !file.exists(self.location().objects(), table).await?
            {
                return Err(Error::Vacuumed {
                    table: table.to_owned(),
                    file: file.path.clone(),
                });
            }
        }
        Ok(())
    }
}

/// Returns a random duration between half of the pause and all of it, which separates colliding writers.
fn add_jitter(pause: Duration) -> Duration {
    let random = u32::from(Uuid::new_v4().into_bytes().first().copied().unwrap_or(0));
    pause / 2 + pause * random / 512
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt;
    use std::sync::{Arc, Mutex};

    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use futures::stream::BoxStream;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{Error, ObjectMeta, ObjectStore, PutOptions, PutPayload, PutResult, Result};

    use super::*;
    use crate::Location;
    use crate::files::file::{self, Effort};
    use crate::io::forward::forward_to;

    /// Time at which an abandoned request is executed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Late {
        BeforeTheNextWrite,
        BeforeTheNextListing,
    }

    /// Abandons one commit, and executes it late.
    #[derive(Debug)]
    struct Slow {
        inner: Arc<InMemory>,
        late: Late,
        held: Arc<Mutex<Option<(Path, PutPayload)>>>,
        given_up: Mutex<bool>,
    }

    impl Slow {
        /// The abandoned commit: the first one after the creation of the table.
        fn gives_up(&self, location: &Path) -> bool {
            let is_it = location.as_ref().ends_with("00000000000000000001.json");
            is_it && !std::mem::replace(&mut *self.given_up.lock().unwrap(), is_it)
        }
    }

    async fn land(inner: &InMemory, held: &Mutex<Option<(Path, PutPayload)>>) {
        let held = held.lock().unwrap().take();
        if let Some((path, payload)) = held {
            let create = object_store::PutMode::Create.into();
            inner.put_opts(&path, payload, create).await.unwrap();
        }
    }

    impl fmt::Display for Slow {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "slow")
        }
    }

    #[async_trait::async_trait]
    impl ObjectStore for Slow {
        forward_to!(
            inner: put_multipart_opts, get_opts, delete_stream, list_with_delimiter, copy_opts
        );

        async fn put_opts(
            &self,
            location: &Path,
            payload: PutPayload,
            options: PutOptions,
        ) -> Result<PutResult> {
            if self.gives_up(location) {
                *self.held.lock().unwrap() = Some((location.clone(), payload));
                return Err(Error::Generic {
                    store: "S3",
                    source: "timed out".into(),
                });
            }
            if self.late == Late::BeforeTheNextWrite && location.extension() == Some("json") {
                land(&self.inner, &self.held).await;
            }
            self.inner.put_opts(location, payload, options).await
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            use futures::StreamExt as _;
            if self.late == Late::BeforeTheNextWrite {
                return self.inner.list(prefix);
            }
            let (inner, held) = (Arc::clone(&self.inner), Arc::clone(&self.held));
            let prefix = prefix.cloned();
            let listed = async move {
                land(&inner, &held).await;
                inner.list(prefix.as_ref())
            };
            futures::stream::once(listed).flatten().boxed()
        }
    }

    #[tokio::test]
    async fn a_commit_that_lands_late_is_not_done_twice() {
        for late in [Late::BeforeTheNextWrite, Late::BeforeTheNextListing] {
            let slow = Slow {
                inner: Arc::default(),
                late,
                held: Arc::default(),
                given_up: Mutex::new(false),
            };
            let location = Location::from_object_store(Arc::new(slow)).unwrap();
            let store = Store::from_location(location, "");
            let table = schema::table("graphs").unwrap();
            let mut asked = 0;
            let plan = async |_: &Snapshot| {
                asked += 1;
                let columns: BTreeMap<&str, ArrayRef> = BTreeMap::from([
                    ("graph_id", Arc::new(Int64Array::from(vec![7])) as ArrayRef),
                    (
                        "dataset",
                        Arc::new(StringArray::from(vec!["tenset"])) as ArrayRef,
                    ),
                    (
                        "workload_key",
                        Arc::new(StringArray::from(vec!["key"])) as ArrayRef,
                    ),
                ]);
                let rows = [file::batch(table, columns)?];
                let file = file::write(store.location(), table, &[], &rows, Effort::Ingest).await?;
                Ok(Some(Change {
                    add: vec![file],
                    ..Change::default()
                }))
            };
            store.commit("graphs", "test", plan).await.unwrap();
            let snapshot = store.snapshot("graphs").await.unwrap().unwrap();
            assert_eq!(
                (snapshot.version(), snapshot.files().len()),
                (1, 1),
                "{late:?}"
            );
            assert_eq!(
                asked,
                if late == Late::BeforeTheNextWrite {
                    2
                } else {
                    1
                }
            );
        }
    }
}
