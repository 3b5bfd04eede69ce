//! Copy of a store, or of selected records, to another store: row by row, without source files.
//!
//! ```text
//! from  sources ─▶ plan: which sources does the other store have, which have grown, which are new
//! to    node_types, environments, graphs, tasks, texts, samples   missing rows, by identifier
//!       configurations                                            with new ids
//!       records, lines, ... ─▶ sources                            by the same commits as an ingest
//! ```
//!
//! Existing rows are skipped, so a second copy changes nothing, and completes an interrupted one.
//!
//! ```
//! use tsql_dataset::copy::CopyOptions;
//! use tsql_store::Store;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let (from, to) = (tsql_dataset::demo::create_demo().await?, Store::create("memory:").await?);
//! let copied = tsql_dataset::copy::copy_to(&from, &to, &CopyOptions::default()).await?;
//! assert!(copied.is_clean() && copied.records > 0);
//! let again = tsql_dataset::copy::copy_to(&from, &to, &CopyOptions::default()).await?;
//! assert_eq!((again.sources, again.unchanged), (0, copied.sources + copied.other_names));
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod configuration_numbers;
mod identified_tables;
mod job;
mod keyed_tables;
mod partial_files;
mod plan;
mod rows;
mod sources;

use std::collections::BTreeSet;

use tsql_adapters::ingest_log::{IngestLog, Labelling};
use tsql_error::{Error, Result};
use tsql_session::open_session;
use tsql_store::Store;

use job::CopyJob;
use plan::Plan;

use crate::ingest::commits::Committer;
use crate::ingest::orphans::{Orphans, ReadScope, TABLES};
use crate::ingest::retry_until_done;
use crate::line_selection::{LineSelection, nothing_selected};
use crate::optimize::merge_small_files;
use crate::upkeep::orphans::find_orphaned;

pub use job::{CopyOptions, CopyProgress, CopyReport};

/// Copies this store, at its version, into another one.
///
/// # Errors
/// [`Error::Empty`] if a predicate selects nothing, [`Error::Query`] if it is invalid SQL, [`Error::Argument`] if
/// both are the same store, and failures of either storage. [`CopyReport`] lists single items that cannot be
/// copied.
pub async fn copy_to(store: &Store, to: &Store, options: &CopyOptions) -> Result<CopyReport> {
    if store.location().as_str() == to.location().as_str() && store.location().as_str() != "memory:"
    {
        return Err(Error::Argument {
            name: "to",
            reason: "a store cannot be copied into itself".to_owned(),
        });
    }
    // Rows that are written meanwhile are not copied in part.
    let from = store.pin_versions().await?;
    let copy = CopyJob {
        from: &from,
        to,
        context: open_session(&from).await?,
        options,
    };
    let chosen = match &options.predicate {
        Some(predicate) => {
            let chosen = LineSelection::select(&copy.context, "records", predicate).await?;
            if chosen.is_empty() {
                return Err(nothing_selected("records", predicate));
            }
            Some(chosen)
        }
        None => None,
    };
    let files = sources::read_sources(&copy.context).await?;
    let mut copied = retry_until_done(async || copy.attempt(&files, chosen.as_ref()).await).await?;
    if !options.dry_run {
        if let Some(chosen) = &chosen {
            copy.copy_partial_files(chosen, &mut copied).await?;
        } else {
            copy.copy_keyed_tables(&copied).await?;
        }
        merge_small_files(to).await?;
    }
    Ok(copied)
}

impl CopyJob<'_> {
    /// Copies what the other store does not have. `None` if another run has changed it meanwhile.
    async fn attempt(
        &self,
        files: &[sources::CopySource],
        chosen: Option<&LineSelection>,
    ) -> Result<Option<CopyReport>> {
        let ledger = IngestLog::load_durable(self.to).await?;
        let there = sources::destination_sources(self.to).await?;
        let mut plan = Plan::new(files, ledger.clone(), there, chosen, &self.context).await?;
        if plan.closed.is_empty() || self.options.dry_run {
            return Ok(Some(plan.copied));
        }
        let ids: BTreeSet<i64> = plan
            .closed
            .iter()
            .map(|file| file.reading.source_id)
            .collect();
        let scope = ReadScope {
            datasets: plan.closed.iter().map(|file| file.dataset).collect(),
            sources: Some(ids),
            ..ReadScope::default()
        };
        // Uses the ingest log of the other store without the planned changes.
        let orphans = Orphans::find(self.to, &ledger, &scope, &TABLES).await?;
        let labelling = Labelling::default();
        let mut commits = Committer::new(self.to, &ledger, orphans, labelling);
        if !commits.remove_strays().await? {
            return Ok(None);
        }
        // Rows of an unfinished run are not copied.
        plan.is_whole = plan.is_whole && find_orphaned(self.from).await?.is_empty();
        plan.copied.graphs = self.copy_identified_tables(&plan).await?;
        let numbers = self.copy_configurations(&plan).await?;
        plan.copied.configurations = numbers.new;
        let files = self.copy_rows(&plan, &numbers).await?;
        let done = commits.commit_files(files, &plan.closed).await?;
        Ok(done.then_some(plan.copied))
    }
}
