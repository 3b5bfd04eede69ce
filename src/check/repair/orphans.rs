//! Rows of interrupted runs whose file was never ingested again.
//!
//! Rows of a running ingest look the same. They are reported, but not removed until they are an hour old.

use std::time::Duration;

use futures::FutureExt as _;

use super::step::RepairStep;

/// Age from which rows without an entry in the ingest log belong to no running process.
const LEAST_AGE: Duration = Duration::from_hours(1);

pub(super) const STEP: RepairStep = RepairStep {
    found: "files and tables with rows of an interrupted run that are not in the ingest log",
    does: "removes the rows that are older than an hour; ingesting their file again replaces them",
    is_damage: false,
    count: |store| async { Ok(store.find_orphaned().await?.len() as u64) }.boxed(),
    apply: |store| async { Ok(store.remove_orphaned(LEAST_AGE).await?.len() as u64) }.boxed_local(),
};
