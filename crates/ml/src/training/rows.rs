//! Rows of a selection, in batches of epochs.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use tsql_error::Result;
use tsql_store::Store;

use super::cache::{CachedSelection, cached_selection};
use super::options::RowsOptions;
use super::order::Order;
use super::position::Position;
use super::selection::Selection;
use super::steps::Steps;

#[cfg(doc)]
use tsql_error::Error;

/// Iterator of the batches of an epoch, in order.
pub type RowsIter = Steps<TrainingBatch>;

/// Rows of a query over one version of a store, in batches of any epoch.
///
/// * A batch depends only on the selection, the options and its [`Position`], so a run can resume at any
///   position.
/// * Cheap to clone, and to share between threads.
#[derive(Clone, Debug)]
pub struct TrainingRows(Arc<SharedRows>);

#[derive(Debug)]
struct SharedRows {
    kept: Arc<CachedSelection>,
    order: Order,
    options: RowsOptions,
}

/// Some rows of a selection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainingBatch {
    /// Its position. Padding has numbers after the last batch of the epoch.
    pub position: Position,
    /// True if it repeats one of the first batches of the epoch, so that all ranks have the same number: see
    /// [`RowsOptions::pad`].
    pub is_padding: bool,
    /// The rows.
    pub rows: RecordBatch,
    /// Number of rows of each group, in order, if rows are grouped; LightGBM and `XGBoost` call it `group`.
    /// They add up to the number of rows.
    pub group_sizes: Option<Vec<u64>>,
}

/// Selects the rows of a query for training. They are written once into the user's cache (`TSQL_CACHE`,
/// `XDG_CACHE_HOME`, `~/.cache`) as a memory-mapped Arrow file. Later calls for the same rows of the same
/// data use that file. A query that reads files outside of the store, or the current time, is written again
/// each time.
///
/// Rows are numbered in the order of the query. Without ORDER BY the order is stable for the same table
/// versions, until `tsql optimize` rewrites them.
///
/// Text and bytes are Utf8 and Binary, dictionaries are decoded; all other columns have the type of the
/// query.
///
/// # Errors
/// As [`open_session`](tsql_session::open_session); [`Error::Sql`] and [`Error::Refused`] for SQL that is not a query, or whose rows
/// or their order are not deterministic; [`Error::Unknown`] for an unknown group or parameter;
/// [`Error::Argument`] for invalid options; [`Error::Io`] if the cache cannot be written.
pub async fn training_rows(
    store: &Store,
    sql: &str,
    options: &RowsOptions,
) -> Result<TrainingRows> {
    options.validate()?;
    let selection = Selection::plan_query(store, sql, options).await?;
    let kept = cached_selection(&selection, sql, options).await?;
    Ok(TrainingRows::new(Arc::new(kept), options.clone()))
}

impl TrainingRows {
    fn new(kept: Arc<CachedSelection>, options: RowsOptions) -> Self {
        let loader = options.loader.clone();
        let order = Order::new(kept.units.clone(), options.batch_rows, loader);
        let order = match &kept.families {
            Some(families) => order.with_families(Arc::clone(families)),
            None => order,
        };
        Self(Arc::new(SharedRows {
            kept,
            order,
            options,
        }))
    }

    /// Returns the same rows for one of several processes or workers: see [`RowsOptions::rank`].
    ///
    /// # Errors
    /// [`Error::Argument`] if `rank` is not below `world`.
    pub fn for_rank(&self, rank: u64, world: u64) -> Result<Self> {
        let options = self.0.options.clone().rank(rank, world);
        options.validate()?;
        Ok(Self::new(Arc::clone(&self.0.kept), options))
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.kept.file.row_count()
    }

    /// Returns true if the query has no rows; epochs have no steps then.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of groups; `None` without groups.
    #[must_use]
    pub fn group_count(&self) -> Option<u64> {
        self.0.order.group_count()
    }

    /// Returns the columns, with the metadata of the store's schemas.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.0.kept.file.schema()
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &RowsOptions {
        &self.0.options
    }

    /// Returns the batches of an epoch for this rank, including padding: the same for all ranks unless padding
    /// is off. With groups epochs may differ, because packing depends on the order.
    #[must_use]
    pub fn batch_count(&self, epoch: u64) -> u64 {
        self.0.order.steps(epoch)
    }

    /// Returns the batches of an epoch for all ranks together, without padding.
    #[must_use]
    pub fn total_batches(&self, epoch: u64) -> u64 {
        self.0.order.batches(epoch)
    }

    /// Returns the batches of this rank in the rest of an epoch, after the batches before `from`, which all
    /// ranks together have used.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such batch.
    pub fn steps_left(&self, from: Position) -> Result<u64> {
        Ok(self.0.order.rank_share(from)?.steps())
    }

    /// Returns these rows by number, from 0, in this order.
    ///
    /// # Errors
    /// [`Error::Argument`] for a number beyond the last row.
    pub fn rows(&self, indices: &[u64]) -> Result<RecordBatch> {
        self.0.kept.file.gather(indices)
    }

    /// Returns a batch of any rank.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such batch.
    pub fn batch(&self, position: Position) -> Result<TrainingBatch> {
        let chosen = self.0.order.batch_row_indices(position)?;
        Ok(TrainingBatch {
            position,
            rows: self.rows(&chosen.rows)?,
            group_sizes: chosen.group_sizes,
            is_padding: self.0.order.is_padding(position),
        })
    }

    /// Iterates over the batches of this rank in the rest of an epoch. Threads prefetch them from the first
    /// call on. The ranks together have used the batches before `from`, whatever their number was. `from` may
    /// be the end of the epoch.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such batch.
    pub fn iter(&self, from: Position) -> Result<RowsIter> {
        let rows = self.clone();
        Steps::new(&self.0.order, from, move |at| rows.batch(at))
    }
}
