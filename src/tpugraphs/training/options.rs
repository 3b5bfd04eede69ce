//! Options of graph steps.

use crate::error::{Error, Result};
use crate::training::RowsOptions;

use super::pick::Picking;
use super::table::Form;

/// Options that turn files into steps: each is one file once an epoch, with some of its configurations.
///
/// ```
/// use tsql::tpugraphs::{GraphsOptions, Pick, Picking};
/// let options = GraphsOptions::new(Picking::new(Pick::Gumbel, 128).seed(7)).split("train");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphsOptions {
    pub(super) picking: Picking,
    pub(super) form: Form,
    pub(super) split: Option<String>,
    pub(super) balance: Option<String>,
    pub(super) shuffle: bool,
    pub(super) drop_last: bool,
    pub(super) pad: bool,
    pub(super) rank: u64,
    pub(super) world: u64,
    pub(super) prefetch: usize,
    pub(super) threads: usize,
    pub(super) open_graphs: usize,
    pub(super) open_samples: u64,
}

impl GraphsOptions {
    /// Creates options with this picking: files of all splits, shuffled each epoch; 4 steps prefetched by two
    /// threads; at most 4,096 files and 8 million samples open. The seed of `picking` also seeds the order.
    #[must_use]
    pub fn new(picking: Picking) -> Self {
        Self {
            picking,
            form: Form::Int8,
            split: None,
            balance: None,
            shuffle: true,
            drop_last: false,
            pad: true,
            rank: 0,
            world: 1,
            prefetch: 4,
            threads: 2,
            open_graphs: 4096,
            open_samples: 8_000_000,
        }
    }

    /// Sets the form of configurations: all numbers (layouts as [`Form::Int8`], tiles as `f32`, for either
    /// form), or codes only. Codes are always present.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Selects files of this split: `train`, `valid` or `test`. If runtimes are withheld, as in `test`, picks
    /// by runtime (best, worst, baseline, gumbel, close) give steps without configurations.
    #[must_use]
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Balances families of files: they take turns, so that each is equally frequent, whatever its number of
    /// files. A family has the files for which this SQL over the columns of `sources` gives the same value,
    /// such as `split_part(split_part(id, ':', 4), '_', 1)`. An epoch has as many full rounds as fit into the
    /// number of files, at least one.
    #[must_use]
    pub fn balance(mut self, family: impl Into<String>) -> Self {
        self.balance = Some(family.into());
        self
    }

    /// Shuffles each epoch differently, or orders files by id.
    #[must_use]
    pub fn shuffle(self, shuffle: bool) -> Self {
        Self { shuffle, ..self }
    }

    /// Leaves out files that only some ranks would get.
    #[must_use]
    pub fn drop_last(self, drop_last: bool) -> Self {
        Self { drop_last, ..self }
    }

    /// Gives every rank the same number of files: see [`RowsOptions::pad`].
    #[must_use]
    pub fn pad(self, pad: bool) -> Self {
        Self { pad, ..self }
    }

    /// Sets the rank of this process, from 0, among `world` processes that share the files. Step `s` is the
    /// file `s * world + rank` of the epoch.
    #[must_use]
    pub fn rank(self, rank: u64, world: u64) -> Self {
        Self {
            rank,
            world,
            ..self
        }
    }

    /// Sets the number of prefetched steps; with 0 each step is computed on request.
    #[must_use]
    pub fn prefetch(self, prefetch: usize) -> Self {
        Self { prefetch, ..self }
    }

    /// Sets the number of prefetching threads.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the maximum number of open files, at least 1, besides those of prefetched steps. Up to half of them
    /// are opened together, with three queries: few the first time, then as many as were opened before.
    #[must_use]
    pub fn open_graphs(self, open_graphs: usize) -> Self {
        Self {
            open_graphs,
            ..self
        }
    }

    /// Sets the maximum number of samples of all open files, unless one file has more. A sample takes about 40
    /// bytes.
    #[must_use]
    pub fn open_samples(self, open_samples: u64) -> Self {
        Self {
            open_samples,
            ..self
        }
    }

    /// Returns the options of the file order, in which each file is a batch of one row.
    pub(super) fn as_rows(&self) -> RowsOptions {
        RowsOptions::default()
            .batch_rows(1)
            .shuffle(self.shuffle)
            .seed(self.picking.seed)
            .drop_last(self.drop_last)
            .pad(self.pad)
            .rank(self.rank, self.world)
            .threads(self.threads)
    }

    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(super) fn validate(&self) -> Result<()> {
        self.as_rows().validate()?;
        if self.open_graphs == 0 {
            return Err(Error::Argument {
                name: "open_graphs",
                reason: "a batch needs one open file".to_owned(),
            });
        }
        Ok(())
    }
}
