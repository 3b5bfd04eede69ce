//! Options of row batches.

use std::path::PathBuf;

use crate::error::{Error, Result};

/// Options that turn the rows of a selection into batches.
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
    /// Batches of 1,024 shuffled rows with seed 0, for one process; 8 batches are prefetched by two threads;
    /// the cache holds 64 GiB.
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
    /// Sets the value of `$NAME` in the SQL.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Sets the number of rows of a batch; the last batch of an epoch may have fewer. With groups it is the
    /// maximum number of rows that are combined.
    #[must_use]
    pub fn batch_rows(self, batch_rows: u64) -> Self {
        Self { batch_rows, ..self }
    }

    /// Groups rows with the same value in this column of the selection, in the order of the SQL. Groups are
    /// shuffled instead of rows, and a batch has whole groups. A group with more rows than `batch_rows` is a
    /// batch by itself. NULLs are one group.
    #[must_use]
    pub fn group(mut self, column: impl Into<String>) -> Self {
        self.group = Some(column.into());
        self
    }

    /// Balances the values of this column of the selection: they take turns, so that each is equally frequent.
    /// Rows of rare values are repeated. Of frequent values each epoch has other rows, and no row is repeated
    /// before all rows of its value were used. An epoch has as many rows (with groups: groups) as the
    /// selection, rounded down to a multiple of the number of values. With groups, a group has rows that share
    /// both values.
    #[must_use]
    pub fn balance(mut self, column: impl Into<String>) -> Self {
        self.balance = Some(column.into());
        self
    }

    /// Shuffles each epoch differently, or keeps the order of the SQL.
    #[must_use]
    pub fn shuffle(self, shuffle: bool) -> Self {
        Self { shuffle, ..self }
    }

    /// Sets the seed; the same seed gives the same batches.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Leaves out the last batch of an epoch if it has fewer rows than the others (not with groups, whose
    /// batches differ in size). Also leaves out batches that only some ranks would get. Then no batch is
    /// repeated.
    #[must_use]
    pub fn drop_last(self, drop_last: bool) -> Self {
        Self { drop_last, ..self }
    }

    /// Gives every rank the same number of batches, as synchronous training needs. If the number of batches is
    /// not a multiple of the ranks, the first batches of the epoch are repeated at its end, marked by
    /// [`TrainingBatch::is_padding`](super::TrainingBatch). This is the default. Without padding each batch
    /// comes exactly once, as an evaluation needs, and the last ranks may have one batch less. With one rank,
    /// or with `drop_last`, there is nothing to pad.
    #[must_use]
    pub fn pad(self, pad: bool) -> Self {
        Self { pad, ..self }
    }

    /// Sets the rank of this process, from 0, among `world` processes that share the batches. Step `s` of rank
    /// `r` is the batch `s * world + r` of the epoch. Together the ranks give the batches of a single process,
    /// plus padding (see [`RowsOptions::pad`]).
    #[must_use]
    pub fn rank(self, rank: u64, world: u64) -> Self {
        Self {
            rank,
            world,
            ..self
        }
    }

    /// Sets the number of prefetched batches; with 0 each batch is computed on request.
    #[must_use]
    pub fn prefetch(self, prefetch: usize) -> Self {
        Self { prefetch, ..self }
    }

    /// Sets the number of prefetching threads.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the cache folder of selections, which is created for this user alone. The default is `rows` in the
    /// user's cache (`TSQL_CACHE`).
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Sets the maximum size of the cache in bytes when this selection is added; the least recently used
    /// selections are removed.
    #[must_use]
    pub fn cache_bytes(self, cache_bytes: u64) -> Self {
        Self {
            cache_bytes,
            ..self
        }
    }

    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(crate) fn validate(&self) -> Result<()> {
        let wrong = |name: &'static str, reason: String| Err(Error::Argument { name, reason });
        if self.batch_rows == 0 {
            return wrong(
                "batch_rows",
                "expected at least one row in a batch".to_owned(),
            );
        }
        if self.threads == 0 {
            let reason = "expected at least one thread\n\
                hint: prefetch 0 computes each batch when it is requested";
            return wrong("threads", reason.to_owned());
        }
        let (rank, world) = (self.rank, self.world);
        if rank >= world {
            let reason =
                format!("rank {rank} of {world}, expected a rank from 0 and below {world}");
            return wrong("rank", reason);
        }
        Ok(())
    }
}
