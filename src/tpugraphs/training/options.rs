//! How files of TpuGraphs become steps.

use crate::error::{Error, Result};
use crate::training::RowsOptions;

use super::pick::Picking;
use super::table::Form;

/// How files become steps: each is one file once an epoch, with some of its configurations.
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
    /// Picks so, from files of all splits in another order each epoch; 4 steps ahead by two threads, at most 4,096 files and
    /// 8 million samples open. The seed of `picking` is that of the order, too.
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

    /// What a step has of its configurations: all numbers (of layouts as [`Form::Int8`], of tiles as `f32`, whichever of the
    /// two is asked for), or codes only. Codes are always there.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Only files of this split: `train`, `valid` or `test`. Where runtimes are withheld, as in `test`, picks by runtime (best, worst,
    /// baseline, gumbel, close) give steps without configurations.
    #[must_use]
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Families of files take turns, so that each comes as often as any other, however many files it has: files for which this SQL over
    /// the columns of `sources` gives the same value, such as `split_part(split_part(id, ':', 4), '_', 1)`. An epoch has as
    /// many full rounds as there are files for, at least one.
    #[must_use]
    pub fn balance(mut self, family: impl Into<String>) -> Self {
        self.balance = Some(family.into());
        self
    }

    /// In another order each epoch, or always by their ids.
    #[must_use]
    pub fn shuffle(self, shuffle: bool) -> Self {
        Self { shuffle, ..self }
    }

    /// Leaves out the files that not every rank would get one of.
    #[must_use]
    pub fn drop_last(self, drop_last: bool) -> Self {
        Self { drop_last, ..self }
    }

    /// Gives every rank equally many files: see [`RowsOptions::pad`].
    #[must_use]
    pub fn pad(self, pad: bool) -> Self {
        Self { pad, ..self }
    }

    /// Of `world` processes that share the files the one with this number, from 0: its step `s` is the file
    /// `s * world + rank` of the epoch.
    #[must_use]
    pub fn rank(self, rank: u64, world: u64) -> Self {
        Self {
            rank,
            world,
            ..self
        }
    }

    /// Steps that are made ahead; with 0 each is made when it is asked for.
    #[must_use]
    pub fn prefetch(self, prefetch: usize) -> Self {
        Self { prefetch, ..self }
    }

    /// Threads that make steps ahead.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Files that are open at a time, at most, beside those of steps that are made ahead; at least 1. Up to half of them are
    /// opened together, with three questions: few the first time, then as many as were opened before.
    #[must_use]
    pub fn open_graphs(self, open_graphs: usize) -> Self {
        Self {
            open_graphs,
            ..self
        }
    }

    /// Samples of all open files, at most, unless one file has more. A sample takes about 40 bytes.
    #[must_use]
    pub fn open_samples(self, open_samples: u64) -> Self {
        Self {
            open_samples,
            ..self
        }
    }

    /// The order of files as one of rows, each a batch of its own.
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
    /// [`Error::Argument`] for what cannot be.
    pub(super) fn checked(&self) -> Result<()> {
        self.as_rows().checked()?;
        if self.open_graphs == 0 {
            return Err(Error::Argument {
                name: "open_graphs",
                reason: "a step needs one open file".to_owned(),
            });
        }
        Ok(())
    }
}
