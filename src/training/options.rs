//! How rows become batches.

use std::path::PathBuf;

use crate::error::{Error, Result};

/// How the rows of a selection become batches.
///
/// ```
/// use tsql::training::RowsOptions;
/// let options = RowsOptions::default().batch_rows(512).seed(7).rank(0, 4);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowsOptions {
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) batch_rows: u64,
    pub(crate) group: Option<String>,
    pub(crate) balance: Option<String>,
    pub(crate) shuffle: bool,
    pub(crate) seed: u64,
    pub(crate) drop_last: bool,
    pub(crate) pad: bool,
    pub(crate) rank: u64,
    pub(crate) world: u64,
    pub(crate) prefetch: usize,
    pub(crate) threads: usize,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) cache_bytes: u64,
}

impl Default for RowsOptions {
    /// Batches of 1,024 shuffled rows with seed 0, for one process; 8 of them ahead, by two threads; 64 GiB of
    /// selections are kept.
    fn default() -> Self {
        Self {
            parameters: Vec::new(),
            batch_rows: 1024,
            group: None,
            balance: None,
            shuffle: true,
            seed: 0,
            drop_last: false,
            pad: true,
            rank: 0,
            world: 1,
            prefetch: 8,
            threads: 2,
            cache: None,
            cache_bytes: 64 << 30,
        }
    }
}

impl RowsOptions {
    /// The value of `$NAME` in the SQL.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Rows of a batch; the last one of an epoch may have fewer. With groups: the most rows that are put together.
    #[must_use]
    pub fn batch_rows(self, batch_rows: u64) -> Self {
        Self { batch_rows, ..self }
    }

    /// Rows with the same value in this column of the selection stay together, in the order that the SQL gives
    /// them: it is groups that are shuffled, and a batch is of whole ones. One that has more rows than `batch_rows` is a
    /// batch by itself. NULLs are one group.
    #[must_use]
    pub fn group(mut self, column: impl Into<String>) -> Self {
        self.group = Some(column.into());
        self
    }

    /// Values of this column of the selection take turns, so that each comes as often as any other, whatever the number of its rows: rare ones
    /// are repeated, of frequent ones each epoch has others, and none comes again before all of its value have come. An epoch has
    /// as many rows (of groups: groups) as the selection, down to a multiple of the number of values. With groups a group is of rows
    /// that share both values.
    #[must_use]
    pub fn balance(mut self, column: impl Into<String>) -> Self {
        self.balance = Some(column.into());
        self
    }

    /// In another order each epoch, or always in that of the SQL.
    #[must_use]
    pub fn shuffle(self, shuffle: bool) -> Self {
        Self { shuffle, ..self }
    }

    /// The same seed gives the same batches.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Leaves out the last batch of an epoch where it has fewer rows than the others (not of groups, whose batches
    /// differ anyway), and those that not every rank would get one of. No batch comes twice then.
    #[must_use]
    pub fn drop_last(self, drop_last: bool) -> Self {
        Self { drop_last, ..self }
    }

    /// Gives every rank equally many batches, as synchronous training needs: where the batches of an epoch are no multiple of
    /// the ranks, its first ones are repeated at its end, marked by [`TrainingBatch::is_padding`](super::TrainingBatch). This
    /// is the default. Without padding each batch comes exactly once, as an evaluation needs, and the last ranks may have one
    /// batch less. With one rank, or with `drop_last`, there is nothing to pad.
    #[must_use]
    pub fn pad(self, pad: bool) -> Self {
        Self { pad, ..self }
    }

    /// Of `world` processes that share the batches the one with this number, from 0. Step `s` of rank `r` is the batch
    /// `s * world + r` of the epoch: together they give what one alone gives, plus padding (see [`RowsOptions::pad`]).
    #[must_use]
    pub fn rank(self, rank: u64, world: u64) -> Self {
        Self {
            rank,
            world,
            ..self
        }
    }

    /// Batches that are made ahead; with 0 each is made when it is asked for.
    #[must_use]
    pub fn prefetch(self, prefetch: usize) -> Self {
        Self { prefetch, ..self }
    }

    /// Threads that make batches ahead.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The folder that selections are kept in, which is made for this user alone: `rows` in the user's cache (`TSQL_CACHE`)
    /// unless it is set.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Bytes of selections that stay in the cache when this one comes to them: the ones that were not used for
    /// longest go.
    #[must_use]
    pub fn cache_bytes(self, cache_bytes: u64) -> Self {
        Self {
            cache_bytes,
            ..self
        }
    }

    /// # Errors
    /// [`Error::Argument`] for what cannot be.
    pub(crate) fn checked(&self) -> Result<()> {
        let wrong = |name: &'static str, reason: String| Err(Error::Argument { name, reason });
        if self.batch_rows == 0 {
            return wrong("batch_rows", "a batch has at least one row".to_owned());
        }
        if self.threads == 0 {
            let reason = "at least one thread makes batches\nhint: prefetch 0 makes each when it is asked for";
            return wrong("threads", reason.to_owned());
        }
        let (rank, world) = (self.rank, self.world);
        if rank >= world {
            let reason = format!("rank {rank} of {world}: ranks are counted from 0");
            return wrong("rank", reason);
        }
        Ok(())
    }
}
