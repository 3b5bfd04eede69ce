//! Rows of interrupted runs whose file was never ingested again.
//!
//! Those of a run that is at work look the same: they are told and not touched until they are an hour old.

use std::time::Duration;

use futures::FutureExt as _;

use super::kind::Mend;

/// Age from which on rows without an entry in the ledger belong to nobody who is at work.
const LEAST_AGE: Duration = Duration::from_hours(1);

pub(super) const MEND: Mend = Mend {
    found: "files and tables with rows of an interrupted run, which are not in the ledger",
    does: "takes those away that are older than an hour; to ingest the file again puts its rows in their place",
    is_damage: false,
    count: |store| async { Ok(store.orphaned().await?.len() as u64) }.boxed(),
    apply: |store| async { Ok(store.remove_orphaned(LEAST_AGE).await?.len() as u64) }.boxed_local(),
};
