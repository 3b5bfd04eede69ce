//! Rows of interrupted runs whose file was never ingested again.
//!
//! Rows of a running ingest look the same. They are reported, but not removed until they are an hour old.

use std::time::Duration;

use futures::FutureExt as _;

use super::step::RepairStep;
use crate::check::reingest;
use crate::upkeep::orphans::{find_orphaned, remove_orphaned};

/// Age from which rows without an entry in the ingest log belong to no running process.
const LEAST_AGE: Duration = Duration::from_hours(1);

pub(super) const STEP: RepairStep = RepairStep {
    description: "files and tables with rows of an interrupted run that are not in the ingest log",
    effect: "removes the rows that are older than an hour; ingesting their file again replaces them",
    is_damage: false,
    count: |store| async { Ok(find_orphaned(store).await?.len() as u64) }.boxed(),
    apply: |store| {
        async { Ok(remove_orphaned(store, LEAST_AGE).await?.len() as u64) }.boxed_local()
    },
    next_commands: |store| reingest::commands_of_lost_sources(store).boxed(),
};
