//! Output of a run's lines: to its journal immediately, and to the store in groups.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tsql_adapters::formats::StreamFormat;
use tsql_error::{Error, Result};
use tsql_measure::journal::Journal;
use tsql_store::Store;

use crate::ingest::open_appender;
use crate::ingest::{AppendOptions, Appender, Report};

/// Location of in-memory stores.
const MEMORY: &str = "memory:";

/// Header of a journal: its first line, with the target of the other lines.
#[derive(Debug, Serialize, Deserialize)]
struct JournalHeader {
    store: String,
    stream: String,
    platform: String,
    /// Whether the lines are auto_scheduler records.
    #[serde(default)]
    tenset: bool,
    /// Labels of all records.
    #[serde(default)]
    labels: Vec<(String, String)>,
}

impl JournalHeader {
    fn options(&self) -> AppendOptions {
        let mut options = AppendOptions::new(self.stream.as_str(), self.platform.as_str());
        options.format = if self.tenset {
            StreamFormat::TENSET
        } else {
            StreamFormat::MEASURED
        };
        options.labels.clone_from(&self.labels);
        // Only `commit` ends a group.
        options.group_lines = u64::MAX;
        options.group_time = Duration::from_secs(1 << 30);
        options
    }
}

/// Folder of this user's journals.
///
/// # Errors
/// If the folder belongs to another user, whose journals cannot be trusted.
fn journal_folder() -> Result<PathBuf> {
    const VARIABLE: &str = "TSQL_STATE";
    let state = if let Some(state) = tsql_folders::state() {
        tsql_folders::create_owned(&state, VARIABLE)?;
        state
    } else {
        // Without a home folder, this shared location may have been created by another user.
        let state = std::env::temp_dir().join("tsql-state");
        tsql_folders::create_private(&state, VARIABLE)?;
        state
    };
    let journals = state.join("journals");
    tsql_folders::create_private(&journals, VARIABLE)?;
    Ok(journals)
}

/// Prefix of the names of in-memory stores of this process. These stores end with the process.
fn memory_store_prefix() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| format!("{MEMORY}{}/", uuid::Uuid::new_v4().simple()))
}

/// Name of the store in a journal.
fn store_name(store: &Store) -> String {
    let location = store.location();
    if location.as_str() == MEMORY {
        let address = Arc::as_ptr(location.objects()).cast::<()>();
        return format!("{}{address:p}", memory_store_prefix());
    }
    let directory = location.local_directory();
    directory.map_or_else(
        || location.as_str().trim_end_matches('/').to_owned(),
        |directory| directory.to_string_lossy().into_owned(),
    )
}

/// Writes the lines of one run.
pub(crate) struct RecordSink {
    journal: Journal,
    appender: Appender,
    /// Number of lines that are only in the journal.
    pending: u64,
    committed_at: Instant,
}

impl RecordSink {
    /// Starts the stream `stream` of a platform.
    pub(crate) async fn begin(
        store: &Store,
        stream: &str,
        platform: &str,
        tenset: bool,
        labels: &[(String, String)],
    ) -> Result<Self> {
        let head = JournalHeader {
            store: store_name(store),
            stream: stream.to_owned(),
            platform: platform.to_owned(),
            tenset,
            labels: labels.to_vec(),
        };
        let appender = open_appender(store, &head.options()).await?;
        let name = uuid::Uuid::new_v4().simple().to_string();
        let mut journal = Journal::create(&journal_folder()?, &name)?;
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

    /// Adds a line; returns when it is on the local disk.
    pub(crate) async fn add_line(&mut self, line: &str) -> Result<()> {
        self.journal.append(line)?;
        self.pending += 1;
        let text = format!("{line}\n");
        let written = self.appender.write(text.as_bytes()).await;
        written.map_err(|error| unstored_error(error, self.journal.path()))
    }

    /// Number of uncommitted lines, and the time since the last commit.
    pub(crate) fn pending(&self) -> (u64, Duration) {
        (self.pending, self.committed_at.elapsed())
    }

    /// Commits all lines and returns their number.
    pub(crate) async fn commit(&mut self) -> Result<u64> {
        let count = std::mem::take(&mut self.pending);
        if count > 0 {
            let flushed = self.appender.flush().await;
            flushed.map_err(|error| unstored_error(error, self.journal.path()))?;
        }
        self.committed_at = Instant::now();
        Ok(count)
    }

    /// Commits the remaining lines and removes the journal.
    pub(crate) async fn finish(self) -> Result<Report> {
        let closed = self.appender.close().await;
        let report = closed.map_err(|error| unstored_error(error, self.journal.path()))?;
        self.journal.finish()?;
        Ok(report)
    }
}

/// Error of timings that could not be stored and remain in the journal.
fn unstored_error(error: Error, journal: &Path) -> Error {
    match error {
        Error::Interrupted => error,
        other => Error::Source {
            location: journal.display().to_string(),
            reason: format!(
                "its timings are not in the store: {other}\nhint: `tsql measure resume` stores them"
            ),
        },
    }
}

/// Stored measurements of interrupted runs.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Resumed {
    /// Number of stored journals.
    pub journals: u64,
    /// Number of records that were new to the store.
    pub records: u64,
    /// Journals of other stores, with the locations of these stores.
    pub other_stores: Vec<(PathBuf, String)>,
    /// Quarantined journals, with the numbers of their unreadable lines.
    pub damaged: Vec<(PathBuf, Vec<u64>)>,
}

/// Stores measurements of interrupted runs.
pub(crate) async fn resume(store: &Store) -> Result<Resumed> {
    let own = store_name(store);
    let mut resumed = Resumed::default();
    for path in Journal::find_abandoned(&journal_folder()?)? {
        // Another process may have locked or removed it.
        let Ok(mut journal) = Journal::open(&path) else {
            continue;
        };
        let lines = journal.lines()?;
        let Some((first, lines)) = lines.split_first() else {
            journal.finish()?;
            continue;
        };
        let head = first.as_deref().map(serde_json::from_str::<JournalHeader>);
        let Some(Ok(head)) = head else {
            // Without the header, the target of the other lines is unknown.
            resumed.damaged.push((journal.quarantine()?, vec![1]));
            continue;
        };
        if head.store.starts_with(MEMORY) && !head.store.starts_with(memory_store_prefix()) {
            // The in-memory store ended with its process.
            journal.finish()?;
            continue;
        }
        if head.store != own {
            resumed.other_stores.push((path, head.store));
            continue;
        }
        let sent = store_lines(store, &head, lines).await;
        let sent = sent.map_err(|error| unstored_error(error, &path))?;
        resumed.journals += 1;
        resumed.records += sent.records;
        if sent.lost.is_empty() {
            journal.finish()?;
        } else {
            resumed.damaged.push((journal.quarantine()?, sent.lost));
        }
    }
    Ok(resumed)
}

/// Result of storing a journal.
struct StoredLines {
    records: u64,
    /// Line numbers, in the journal, of damaged lines that the store does not have.
    lost: Vec<u64>,
}

/// Stores the lines of a journal.
///
/// Lines after a damaged one become a separate stream, named after the line before them: a stream with a
/// gap would differ from the one that the store may have started.
async fn store_lines(
    store: &Store,
    head: &JournalHeader,
    lines: &[Option<String>],
) -> Result<StoredLines> {
    let mut appender = open_appender(store, &head.options()).await?;
    let known = usize::try_from(appender.resume_position().lines).unwrap_or(usize::MAX);
    let whole = lines.iter().take_while(|line| line.is_some()).count();
    let mut records = 0;
    // If the store has lines beyond a damaged one, they cannot and need not be compared.
    if known <= whole {
        let text = join_lines(lines.get(..whole).unwrap_or_default());
        appender.write(text.as_bytes()).await?;
        records += appender.close().await?.records;
    }
    let mut begin = known.max(whole);
    while let Some(rest) = lines.get(begin..).filter(|rest| !rest.is_empty()) {
        let whole = rest.iter().take_while(|line| line.is_some()).count();
        if whole > 0 {
            let mut options = head.options();
            options.stream = format!("{}-after-{begin}", head.stream);
            let mut appender = open_appender(store, &options).await?;
            let text = join_lines(rest.get(..whole).unwrap_or_default());
            appender.write(text.as_bytes()).await?;
            records += appender.close().await?.records;
        }
        begin += whole.max(1);
    }
    let damaged = lines.iter().enumerate().skip(known);
    let lost = damaged.filter(|(_, line)| line.is_none());
    // The header is the journal's first line.
    let lost = lost.map(|(place, _)| place as u64 + 2).collect();
    Ok(StoredLines { records, lost })
}

fn join_lines(lines: &[Option<String>]) -> String {
    lines
        .iter()
        .flatten()
        .flat_map(|line| [line, "\n"])
        .collect()
}
