//! The rows of a selection as batches of epochs.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::cache::{Kept, kept};
use super::options::RowsOptions;
use super::order::{Order, Share};
use super::position::Position;
use super::prefetch::{Ahead, Prefetch};
use super::selection::Selection;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::store::Store;

/// The rows of a query over a store as it was, in batches of any epoch.
///
/// * A batch follows from the selection, the options and its [`Position`] alone: to resume is to begin there.
/// * Cheap to clone, and to share between threads.
#[derive(Clone, Debug)]
pub struct TrainingRows(Arc<Rows>);

#[derive(Debug)]
struct Rows {
    kept: Arc<Kept>,
    order: Order,
    options: RowsOptions,
}

/// Some rows of a selection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainingBatch {
    /// Its number in the epoch. That of padding is not below the number of batches.
    pub position: Position,
    /// True where it repeats one of the first batches of the epoch, so that all ranks have as many: see
    /// [`RowsOptions::pad`].
    pub is_padding: bool,
    /// The rows.
    pub rows: RecordBatch,
    /// How many rows each group has, in their order, where rows are in groups: what LightGBM and `XGBoost` call
    /// `group`. They add up to the rows.
    pub group_sizes: Option<Vec<u64>>,
}

impl Store {
    /// The rows of a query, for training. They are written once into the user's cache (`TSQL_CACHE`,
    /// `XDG_CACHE_HOME`, `~/.cache`), as an Arrow file that is mapped, and found there by whoever asks for the same rows
    /// of the same data again; a query that reads files beside the store, or asks for the time, is written anew each time.
    ///
    /// Rows are numbered in the order of the query. Without ORDER BY it is one that stays for the same versions of the
    /// tables, until `tsql optimize` writes them in another.
    ///
    /// Text and bytes are Utf8 and Binary, dictionaries their values; all else has the type that the query gives.
    ///
    /// # Errors
    /// As [`Store::session`]; [`Error::Sql`] and [`Error::Refused`] for SQL that is no query, whose rows come in another
    /// order each time, or are others; [`Error::Unknown`] for a group or a parameter that is not there, [`Error::Argument`]
    /// for options that cannot be, [`Error::Io`] where the cache cannot be written.
    pub async fn training_rows(&self, sql: &str, options: &RowsOptions) -> Result<TrainingRows> {
        options.checked()?;
        let selection = Selection::of(self, sql, options).await?;
        let kept = kept(&selection, sql, options).await?;
        Ok(TrainingRows::of(Arc::new(kept), options.clone()))
    }
}

impl TrainingRows {
    fn of(kept: Arc<Kept>, options: RowsOptions) -> Self {
        let order = Order::new(kept.units.clone(), &options);
        let order = match &kept.families {
            Some(families) => order.in_turns(Arc::clone(families)),
            None => order,
        };
        Self(Arc::new(Rows {
            kept,
            order,
            options,
        }))
    }

    /// The same rows for one of several processes or workers: see [`RowsOptions::rank`].
    ///
    /// # Errors
    /// [`Error::Argument`] where `rank` is not below `world`.
    pub fn for_rank(&self, rank: u64, world: u64) -> Result<Self> {
        let options = self.0.options.clone().rank(rank, world);
        options.checked()?;
        Ok(Self::of(Arc::clone(&self.0.kept), options))
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.kept.file.row_count()
    }

    /// The query has no rows: epochs are of no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many groups there are; `None` where rows are in none.
    #[must_use]
    pub fn group_count(&self) -> Option<u64> {
        self.0.order.group_count()
    }

    /// The columns, with what the schemas of the store say of them.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.0.kept.file.schema()
    }

    /// What it was made with.
    #[must_use]
    pub fn options(&self) -> &RowsOptions {
        &self.0.options
    }

    /// Batches of an epoch for this rank, padding included: the same for all ranks unless padding is off. With groups epochs
    /// may differ: what fits together depends on the order.
    #[must_use]
    pub fn batch_count(&self, epoch: u64) -> u64 {
        self.0.order.steps(epoch)
    }

    /// Batches of an epoch for all ranks together, without padding.
    #[must_use]
    pub fn total_batches(&self, epoch: u64) -> u64 {
        self.0.order.batches(epoch)
    }

    /// Batches of this rank in the rest of an epoch, of which all ranks have taken those before `from`.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such batch.
    pub fn steps_left(&self, from: Position) -> Result<u64> {
        Ok(self.0.order.share(from)?.steps())
    }

    /// These rows, by their numbers from 0, in this order.
    ///
    /// # Errors
    /// [`Error::Argument`] for a number that no row has.
    pub fn rows(&self, indices: &[u64]) -> Result<RecordBatch> {
        self.0.kept.file.gather(indices)
    }

    /// A batch, whichever rank takes it.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such batch.
    pub fn batch(&self, position: Position) -> Result<TrainingBatch> {
        let chosen = self.0.order.chosen(position)?;
        Ok(TrainingBatch {
            position,
            rows: self.rows(&chosen.rows)?,
            group_sizes: chosen.group_sizes,
            is_padding: self.0.order.is_padding(position),
        })
    }

    /// The batches of this rank in the rest of an epoch, made ahead by threads that begin with the first one. Batches before
    /// `from` were taken by all ranks together, however many they were. `from` may be the end of the epoch.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such batch.
    pub fn iter(&self, from: Position) -> Result<RowsIter> {
        let share = self.0.order.share(from)?;
        let ahead = Ahead {
            steps: self.0.options.prefetch,
            threads: self.0.options.threads,
        };
        let rows = self.clone();
        let make = move |step| rows.batch(share.batch(step));
        Ok(RowsIter {
            share,
            prefetch: Prefetch::new(0..share.steps(), ahead, make),
        })
    }
}

/// The batches of an epoch, in their order.
#[derive(Debug)]
pub struct RowsIter {
    share: Share,
    prefetch: Prefetch<TrainingBatch>,
}

impl RowsIter {
    /// Where all ranks go on, given that each has taken as many batches as this one; what was made ahead does not count.
    /// After the last batch it is the next epoch.
    #[must_use]
    pub fn position(&self) -> Position {
        self.share.position(self.prefetch.position())
    }

    /// Waits for the next one, at most so long, so that who waits can look at something else in between (Ctrl-C). True
    /// where `next` would not wait.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        self.prefetch.wait(at_most)
    }
}

impl Iterator for RowsIter {
    type Item = Result<TrainingBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.prefetch.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.share.steps().saturating_sub(self.prefetch.position());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
