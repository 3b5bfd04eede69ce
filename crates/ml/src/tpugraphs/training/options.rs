//! Options of graph steps.

use derive_setters::Setters;
use tsql_error::{Error, Result};

use super::pick::Picking;
use super::table::Form;
use crate::training::{LoaderOptions, loader_setters};

/// Options that turn files into steps: each is one file once an epoch, with some of its configurations.
///
/// ```
/// use tsql_ml::tpugraphs::GraphsOptions;
/// use tsql_ml::tpugraphs::Pick;
/// use tsql_ml::tpugraphs::Picking;
/// let options = GraphsOptions::new(Picking::new(Pick::Gumbel, 128).seed(7)).split("train");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct GraphsOptions {
    #[setters(skip)]
    pub(super) loader: LoaderOptions,
    #[setters(skip)]
    pub(super) picking: Picking,
    /// Sets the form of configurations: all numbers (layouts as [`Form::Int8`], tiles as `f32`, for either
    /// form), or codes only. Codes are always present.
    pub(super) form: Form,
    /// Selects files of this split: `train`, `valid` or `test`. If runtimes are withheld, as in `test`, picks
    /// by runtime (best, worst, baseline, gumbel, close) give steps without configurations.
    #[setters(into)]
    pub(super) split: Option<String>,
    /// Balances families of files: they take turns, so that each is equally frequent, whatever its number of
    /// files. A family has the files for which this SQL over the columns of `sources` gives the same value,
    /// such as `split_part(split_part(id, ':', 4), '_', 1)`. An epoch has as many full rounds as fit into the
    /// number of files, at least one.
    #[setters(into)]
    pub(super) balance: Option<String>,
    /// Sets the maximum number of open files, at least 1, besides those of prefetched steps. Up to half of them
    /// are opened together, with three queries: few the first time, then as many as were opened before.
    pub(super) open_graphs: usize,
    /// Sets the maximum number of samples of all open files, unless one file has more. A sample takes about 40
    /// bytes.
    pub(super) open_samples: u64,
}

impl GraphsOptions {
    /// Creates options with this picking: files of all splits, shuffled each epoch; 4 steps prefetched by two
    /// threads; at most 4,096 files and 8 million samples open. The seed of `picking` also seeds the order.
    #[must_use]
    pub fn new(picking: Picking) -> Self {
        Self {
            loader: LoaderOptions::new(picking.seed, 4),
            picking,
            form: Form::Int8,
            split: None,
            balance: None,
            open_graphs: 4096,
            open_samples: 8_000_000,
        }
    }

    loader_setters!(loader);

    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(super) fn validate(&self) -> Result<()> {
        self.loader.validate()?;
        if self.open_graphs == 0 {
            return Err(Error::Argument {
                name: "open_graphs",
                reason: "a batch needs one open file".to_owned(),
            });
        }
        Ok(())
    }
}
