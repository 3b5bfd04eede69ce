//! A store, or a part of it, into another one: rows as they are, without a detour over files.
//!
//! ```text
//! from  sources ─▶ plan: which does the other store know, which have grown, which are new
//! to    node_types, environments, graphs, tasks, texts, samples   what it does not have, by identifier
//!       configurations                                            with numbers of its own
//!       records, lines, ... ─▶ sources                            by the committer of every ingest
//! ```
//!
//! What the other store has is recognised, so that copying twice changes nothing; a copy that was broken off is
//! finished by another one.
//!
//! ```
//! use tsql::{CopyOptions, Store};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let (from, to) = (Store::demo().await?, Store::create("memory:").await?);
//! let copied = from.copy_to(&to, &CopyOptions::default()).await?;
//! assert!(copied.is_clean() && copied.records > 0);
//! let again = from.copy_to(&to, &CopyOptions::default()).await?;
//! assert_eq!((again.sources, again.known), (0, copied.sources + copied.other_names));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod beside;
mod job;
mod known;
mod numbers;
mod parts;
mod plan;
mod rows;
mod sources;

use std::collections::BTreeSet;

use crate::chosen::{Lines, nothing};
use crate::error::{Error, Result};
use crate::ingest::commits::Commits;
use crate::ingest::orphans::{Orphans, Scope, TABLES};
use crate::ingest::until_done;
use crate::ledger::{Labelling, Ledger};
use crate::store::Store;
use job::Copy;
pub use job::{Copied, CopyOptions, CopyProgress};
use plan::Plan;

impl Store {
    /// Copies this store, as it is or was, into another one.
    ///
    /// # Errors
    /// [`Error::Empty`] where a predicate selects nothing, [`Error::Query`] where it is no SQL, [`Error::Argument`] where
    /// both are the same store, and failures of either storage. What cannot be copied alone is told in [`Copied`].
    pub async fn copy_to(&self, to: &Store, options: &CopyOptions) -> Result<Copied> {
        if self.location().as_str() == to.location().as_str()
            && self.location().as_str() != "memory:"
        {
            return Err(Error::Argument {
                name: "to",
                reason: "a store cannot be copied into itself".to_owned(),
            });
        }
        // What is written to it meanwhile is not half copied.
        let from = self.pinned().await?;
        let copy = Copy {
            from: &from,
            to,
            context: from.session().await?,
            options,
        };
        let chosen = match &options.predicate {
            Some(predicate) => {
                let chosen = Lines::of(&copy.context, "records", predicate).await?;
                if chosen.is_empty() {
                    return Err(nothing("records", predicate));
                }
                Some(chosen)
            }
            None => None,
        };
        let files = sources::read(&copy.context).await?;
        let mut copied = until_done(async || copy.attempt(&files, chosen.as_ref()).await).await?;
        if !options.dry_run {
            if let Some(chosen) = &chosen {
                copy.parts(chosen, &mut copied).await?;
            } else {
                copy.beside(&copied).await?;
            }
            to.fold().await?;
        }
        Ok(copied)
    }
}

impl Copy<'_> {
    /// Copies what the other store does not have; `None` where another run has changed it meanwhile.
    async fn attempt(
        &self,
        files: &[sources::File],
        chosen: Option<&Lines>,
    ) -> Result<Option<Copied>> {
        let ledger = Ledger::settled(self.to).await?;
        let there = sources::there(self.to).await?;
        let mut plan = Plan::of(files, ledger.clone(), there, chosen, &self.context).await?;
        if plan.closed.is_empty() || self.options.dry_run {
            return Ok(Some(plan.copied));
        }
        let ids: BTreeSet<i64> = plan
            .closed
            .iter()
            .map(|file| file.reading.source_id)
            .collect();
        let scope = Scope {
            datasets: plan.closed.iter().map(|file| file.dataset).collect(),
            sources: Some(ids),
            ..Scope::default()
        };
        // By what the other store says, not by what is about to be copied.
        let orphans = Orphans::find(self.to, &ledger, &scope, &TABLES).await?;
        let labelling = Labelling::default();
        let mut commits = Commits::new(self.to, &ledger, orphans, labelling);
        if !commits.take_out_strays().await? {
            return Ok(None);
        }
        // What a run has not finished stays where it is.
        plan.is_whole = plan.is_whole && self.from.orphaned().await?.is_empty();
        plan.copied.graphs = self.identified(&plan).await?;
        let numbers = self.numbers(&plan).await?;
        plan.copied.configurations = numbers.new;
        let files = self.rows(&plan, &numbers).await?;
        let done = commits.add(files, &plan.closed).await?;
        Ok(done.then_some(plan.copied))
    }
}
