//! Live updates, as server-sent events: new rows appear after an `ingest`, an `append` or a `measure` of another
//! process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_store::Store;

use super::app_state::AppState;

/// Interval at which the head of the ingest log is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// As [`POLL_INTERVAL`], for a store in a bucket, where each poll has a cost.
const REMOTE_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Number of polls without changes after which a keep-alive line is sent.
const MAX_QUIET_POLLS: u32 = 15;

/// Tables of which at least one has a new version after each write.
const WATCHED_TABLES: [&str; 4] = ["sources", "records", "notes", "splits"];

/// Sends the row counts of the store at the start and after each change.
pub(super) async fn stream_updates(served: Arc<AppState>, lines: Sender<String>) {
    let is_far = served.store.location().as_str().contains("://");
    let mut looks = tokio::time::interval(if is_far {
        REMOTE_POLL_INTERVAL
    } else {
        POLL_INTERVAL
    });
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    // A past version of a store never changes.
    let is_past = served.store.check_writable().is_err();
    let (mut known, mut quiet) = (None, 0);
    loop {
        looks.tick().await;
        quiet += 1;
        if is_past && known.is_some() {
            if quiet >= MAX_QUIET_POLLS {
                quiet = 0;
                if lines.send(":\n\n".to_owned()).await.is_err() {
                    return;
                }
            }
            continue;
        }
        // A failed poll is repeated at the next interval.
        let line = match table_versions(&served.store).await {
            Ok(heads) if known.as_ref() != Some(&heads) => match tables(&served.store).await {
                Ok(tables) => {
                    known = Some(heads);
                    format!("data: {}\n\n", json!({"tables": tables}))
                }
                Err(_) => continue,
            },
            _ if quiet >= MAX_QUIET_POLLS => ":\n\n".to_owned(),
            _ => continue,
        };
        quiet = 0;
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

async fn table_versions(store: &Store) -> Result<Vec<Option<u64>>> {
    let mut heads = Vec::new();
    for table in WATCHED_TABLES {
        let snapshot = store.snapshot(table).await?;
        heads.push(snapshot.map(|snapshot| snapshot.version()));
    }
    Ok(heads)
}

/// Version and row count of each existing table.
pub(super) async fn tables(store: &Store) -> Result<Vec<Value>> {
    let mut tables = Vec::new();
    for table in schema::tables()? {
        let Some(snapshot) = store.snapshot(&table.name).await? else {
            continue;
        };
        let files = snapshot.files().iter();
        let rows: u64 = files.map(|file| file.stats.num_records).sum();
        tables.push(json!({"name": table.sql_name(), "version": snapshot.version(), "rows": rows}));
    }
    Ok(tables)
}
