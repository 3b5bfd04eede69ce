//! Options that all training loaders share.

use tsql_error::{Error, Result};

use super::prefetch::PrefetchOptions;

/// Order of an epoch, its division among ranks, and prefetching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoaderOptions {
    pub(crate) shuffle: bool,
    pub(crate) seed: u64,
    pub(crate) drop_last: bool,
    pub(crate) pad: bool,
    pub(crate) rank: u64,
    pub(crate) world: u64,
    pub(crate) ahead: PrefetchOptions,
}

impl LoaderOptions {
    /// Creates options of one process whose two threads prefetch this number of batches.
    pub(crate) const fn new(seed: u64, prefetch: usize) -> Self {
        Self {
            shuffle: true,
            seed,
            drop_last: false,
            pad: true,
            rank: 0,
            world: 1,
            ahead: PrefetchOptions {
                steps: prefetch,
                threads: 2,
            },
        }
    }

    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(crate) fn validate(&self) -> Result<()> {
        let wrong = |name: &'static str, reason: String| Err(Error::Argument { name, reason });
        if self.ahead.threads == 0 {
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

/// Setters of [`LoaderOptions`], for the options of a loader that has them in a field. A batch of graphs is one file.
macro_rules! loader_setters {
    ($field:ident) => {
        /// Shuffles each epoch differently, or keeps the order of the selection: that of the SQL, or files by id.
        #[must_use]
        pub fn shuffle(mut self, shuffle: bool) -> Self {
            self.$field.shuffle = shuffle;
            self
        }

        /// Leaves out the last batch of an epoch if it has fewer rows than the others (not with groups, whose
        /// batches differ in size). Also leaves out batches that only some ranks would get. Then no batch is
        /// repeated.
        #[must_use]
        pub fn drop_last(mut self, drop_last: bool) -> Self {
            self.$field.drop_last = drop_last;
            self
        }

        /// Gives every rank the same number of batches, as synchronous training needs. If the number of batches
        /// is not a multiple of the ranks, the first batches of the epoch are repeated at its end, marked by
        /// `is_padding`. This is the default. Without padding each batch comes exactly once, as an evaluation
        /// needs, and the last ranks may have one batch less. With one rank, or with `drop_last`, there is
        /// nothing to pad.
        #[must_use]
        pub fn pad(mut self, pad: bool) -> Self {
            self.$field.pad = pad;
            self
        }

        /// Sets the rank of this process, from 0, among `world` processes that share the batches. Step `s` of
        /// rank `r` is the batch `s * world + r` of the epoch. Together the ranks give the batches of a single
        /// process, plus padding (see [`pad`](Self::pad)).
        #[must_use]
        pub fn rank(mut self, rank: u64, world: u64) -> Self {
            (self.$field.rank, self.$field.world) = (rank, world);
            self
        }

        /// Sets the number of prefetched batches; with 0 each batch is computed on request.
        #[must_use]
        pub fn prefetch(mut self, prefetch: usize) -> Self {
            self.$field.ahead.steps = prefetch;
            self
        }

        /// Sets the number of prefetching threads.
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.$field.ahead.threads = threads;
            self
        }
    };
}

pub(crate) use loader_setters;
