//! Where the lines of a run go: into its journal at once, and into the store in groups.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tsql_measure::journal::Journal;

use crate::error::{Error, Result};
use crate::formats::StreamFormat;
use crate::ingest::{AppendOptions, Appender, Report};
use crate::store::Store;

/// The place of a store in memory.
const MEMORY: &str = "memory:";

/// The first line of a journal: whose lines follow.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    store: String,
    stream: String,
    platform: String,
    /// The lines are auto_scheduler's.
    #[serde(default)]
    tenset: bool,
    /// Of all records.
    #[serde(default)]
    labels: Vec<(String, String)>,
}

impl Head {
    fn options(&self) -> AppendOptions {
        let mut options = AppendOptions::new(self.stream.as_str(), self.platform.as_str());
        options.format = if self.tenset {
            StreamFormat::Tenset
        } else {
            StreamFormat::Measured
        };
        options.labels.clone_from(&self.labels);
        // Only `commit` ends a group.
        options.group_lines = u64::MAX;
        options.group_time = Duration::from_secs(1 << 30);
        options
    }
}

/// The journals of this user.
///
/// # Errors
/// Where the folder is somebody else's: what it says to have been measured may be anything.
fn folder() -> Result<PathBuf> {
    const VARIABLE: &str = "TSQL_STATE";
    let state = if let Some(state) = tsql_folders::state() {
        tsql_folders::owned(&state, VARIABLE)?;
        state
    } else {
        // Where there is no home, anybody may have made it.
        let state = std::env::temp_dir().join("tsql-state");
        tsql_folders::private(&state, VARIABLE)?;
        state
    };
    let journals = state.join("journals");
    tsql_folders::private(&journals, VARIABLE)?;
    Ok(journals)
}

/// What the names of stores in memory begin with in this process, with which they end.
fn in_memory() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| format!("{MEMORY}{}/", uuid::Uuid::new_v4().simple()))
}

/// The store, as a journal names it.
fn name_of(store: &Store) -> String {
    let location = store.location();
    if location.as_str() == MEMORY {
        let address = Arc::as_ptr(location.objects()).cast::<()>();
        return format!("{}{address:p}", in_memory());
    }
    let directory = location.local_directory();
    directory.map_or_else(
        || location.as_str().trim_end_matches('/').to_owned(),
        |directory| directory.to_string_lossy().into_owned(),
    )
}

/// Takes the lines of one run.
pub(crate) struct Sink {
    journal: Journal,
    appender: Appender,
    /// Lines that are in the journal only.
    pending: u64,
    committed_at: Instant,
}

impl Sink {
    /// Begins the stream `stream` of a platform.
    pub(crate) async fn begin(
        store: &Store,
        stream: &str,
        platform: &str,
        tenset: bool,
        labels: &[(String, String)],
    ) -> Result<Self> {
        let head = Head {
            store: name_of(store),
            stream: stream.to_owned(),
            platform: platform.to_owned(),
            tenset,
            labels: labels.to_vec(),
        };
        let appender = store.appender(&head.options()).await?;
        let name = uuid::Uuid::new_v4().simple().to_string();
        let mut journal = Journal::create(&folder()?, &name)?;
        let text =
            serde_json::to_string(&head).map_err(|error| Error::Internal(error.to_string()))?;
        journal.append(&text)?;
        Ok(Self {
            journal,
            appender,
            pending: 0,
            committed_at: Instant::now(),
        })
    }

    /// Returns when the line is on the local disk.
    pub(crate) async fn take(&mut self, line: &str) -> Result<()> {
        self.journal.append(line)?;
        self.pending += 1;
        let text = format!("{line}\n");
        let written = self.appender.write(text.as_bytes()).await;
        written.map_err(|error| kept(error, self.journal.path()))
    }

    /// Lines that wait to be stored, and for how long.
    pub(crate) fn pending(&self) -> (u64, Duration) {
        (self.pending, self.committed_at.elapsed())
    }

    /// Returns when all lines are in the store; how many they were.
    pub(crate) async fn commit(&mut self) -> Result<u64> {
        let count = std::mem::take(&mut self.pending);
        if count > 0 {
            let flushed = self.appender.flush().await;
            flushed.map_err(|error| kept(error, self.journal.path()))?;
        }
        self.committed_at = Instant::now();
        Ok(count)
    }

    /// Stores what is left; the journal has done its work then.
    pub(crate) async fn finish(self) -> Result<Report> {
        let closed = self.appender.close().await;
        let report = closed.map_err(|error| kept(error, self.journal.path()))?;
        self.journal.finish()?;
        Ok(report)
    }
}

/// Timings that cannot be stored now are not lost.
fn kept(error: Error, journal: &Path) -> Error {
    match error {
        Error::Interrupted => error,
        other => Error::Source {
            location: journal.display().to_string(),
            reason: format!(
                "the timings in it are not in the store: {other}\nhint: `tsql measure resume` stores them"
            ),
        },
    }
}

/// What earlier runs left.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Resumed {
    /// Journals that were stored.
    pub journals: u64,
    /// Records that the store did not have yet.
    pub records: u64,
    /// Journals of other stores, and where those are.
    pub elsewhere: Vec<(PathBuf, String)>,
    /// Journals of which lines could not be read, put aside, and which lines these are.
    pub damaged: Vec<(PathBuf, Vec<u64>)>,
}

/// Stores what runs that were killed have measured.
pub(crate) async fn resume(store: &Store) -> Result<Resumed> {
    let own = name_of(store);
    let mut resumed = Resumed::default();
    for path in Journal::left_over(&folder()?)? {
        // Another process may have taken it meanwhile, or finished it.
        let Ok(mut journal) = Journal::open(&path) else {
            continue;
        };
        let lines = journal.lines()?;
        let Some((first, lines)) = lines.split_first() else {
            journal.finish()?;
            continue;
        };
        let head = first.as_deref().map(serde_json::from_str::<Head>);
        let Some(Ok(head)) = head else {
            // Without it nobody knows whose the others are.
            resumed.damaged.push((journal.put_aside()?, vec![1]));
            continue;
        };
        if head.store.starts_with(MEMORY) && !head.store.starts_with(in_memory()) {
            // That store ended with its process, and all that it had.
            journal.finish()?;
            continue;
        }
        if head.store != own {
            resumed.elsewhere.push((path, head.store));
            continue;
        }
        let sent = send(store, &head, lines).await;
        let sent = sent.map_err(|error| kept(error, &path))?;
        resumed.journals += 1;
        resumed.records += sent.records;
        if sent.lost.is_empty() {
            journal.finish()?;
        } else {
            resumed.damaged.push((journal.put_aside()?, sent.lost));
        }
    }
    Ok(resumed)
}

/// What became of a journal's lines.
struct Sent {
    records: u64,
    /// Damaged ones that the store does not have, as lines of the journal.
    lost: Vec<u64>,
}

/// Stores the lines of a journal. Those behind a damaged one are a stream of their own, named after the
/// line that they follow: a stream with a gap would be another one than the store may have begun.
async fn send(store: &Store, head: &Head, lines: &[Option<String>]) -> Result<Sent> {
    let mut appender = store.appender(&head.options()).await?;
    let known = usize::try_from(appender.known().lines).unwrap_or(usize::MAX);
    let whole = lines.iter().take_while(|line| line.is_some()).count();
    let mut records = 0;
    // Where what the store has goes on behind a damaged line, it cannot be proven, and need not be.
    if known <= whole {
        let text = joined(lines.get(..whole).unwrap_or_default());
        appender.write(text.as_bytes()).await?;
        records += appender.close().await?.records;
    }
    let mut begin = known.max(whole);
    while let Some(rest) = lines.get(begin..).filter(|rest| !rest.is_empty()) {
        let whole = rest.iter().take_while(|line| line.is_some()).count();
        if whole > 0 {
            let mut options = head.options();
            options.stream = format!("{}-after-{begin}", head.stream);
            let mut appender = store.appender(&options).await?;
            let text = joined(rest.get(..whole).unwrap_or_default());
            appender.write(text.as_bytes()).await?;
            records += appender.close().await?.records;
        }
        begin += whole.max(1);
    }
    let damaged = lines.iter().enumerate().skip(known);
    let lost = damaged.filter(|(_, line)| line.is_none());
    // The head is the journal's first line.
    let lost = lost.map(|(place, _)| place as u64 + 2).collect();
    Ok(Sent { records, lost })
}

fn joined(lines: &[Option<String>]) -> String {
    lines
        .iter()
        .flatten()
        .flat_map(|line| [line, "\n"])
        .collect()
}
