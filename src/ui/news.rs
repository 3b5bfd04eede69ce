//! What others write into the store meanwhile, as server-sent events: an `ingest`, an `append` or a `measure` shows by itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::served::Served;
use crate::error::Result;
use crate::schema;
use crate::store::Store;

/// How often the ledger's head is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// As [`LOOK`], of a store in a bucket, where each look costs.
const LOOK_FAR: Duration = Duration::from_secs(10);

/// Looks without news after which a line says that the server is there.
const QUIET: u32 = 15;

/// Tables of which one at least has a new version after each write.
const HEADS: [&str; 4] = ["sources", "records", "notes", "splits"];

/// Says which rows the store has, now and whenever that changes.
pub(super) async fn tell(served: Arc<Served>, lines: Sender<String>) {
    let is_far = served.store.location().as_str().contains("://");
    let mut looks = tokio::time::interval(if is_far { LOOK_FAR } else { LOOK });
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    // A store as it was stays so.
    let is_past = served.store.changeable().is_err();
    let (mut known, mut quiet) = (None, 0);
    loop {
        looks.tick().await;
        quiet += 1;
        if is_past && known.is_some() {
            if quiet >= QUIET {
                quiet = 0;
                if lines.send(":\n\n".to_owned()).await.is_err() {
                    return;
                }
            }
            continue;
        }
        // What cannot be read now may be at the next look.
        let line = match heads(&served.store).await {
            Ok(heads) if known.as_ref() != Some(&heads) => match tables(&served.store).await {
                Ok(tables) => {
                    known = Some(heads);
                    format!("data: {}\n\n", json!({"tables": tables}))
                }
                Err(_) => continue,
            },
            _ if quiet >= QUIET => ":\n\n".to_owned(),
            _ => continue,
        };
        quiet = 0;
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

async fn heads(store: &Store) -> Result<Vec<Option<u64>>> {
    let mut heads = Vec::new();
    for table in HEADS {
        let snapshot = store.snapshot(table).await?;
        heads.push(snapshot.map(|snapshot| snapshot.version()));
    }
    Ok(heads)
}

/// Version and rows of each table that somebody has written.
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
