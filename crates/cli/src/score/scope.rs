//! Options of the scored records.

use clap::{Args, ValueEnum};
use tsql_ml::score::{ScoreOptions, Variant};

use crate::output::Output;

/// Treatment of failed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Failed {
    /// A cost of 1e10 s, as in TenSet and TLP
    Tenset,
    /// Skip them
    Valid,
}

/// Scored records, and the output.
#[derive(Args, Debug)]
pub(super) struct Scope {
    /// Only records of this split, `NAME` or `NAME@VERSION`
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Part of the split [default: test; valid for the split of TpuGraphs]
    #[arg(long, value_name = "PART")]
    part: Option<String>,
    /// SQL condition over `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        hide_default_value = true
    )]
    predicate: String,
    /// Skip records without a prediction, and count them in the table
    #[arg(long)]
    allow_missing: bool,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of bootstrap resamples of tasks for the confidence intervals; 0 for none
    #[arg(long, value_name = "N", default_value_t = 1000)]
    resamples: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl Scope {
    pub(super) fn options(&self, variant: Failed) -> ScoreOptions {
        let mut options = ScoreOptions::default()
            .predicate(self.predicate.as_str())
            .allow_missing(self.allow_missing)
            .seed(self.seed)
            .resamples(self.resamples)
            .variant(match variant {
                Failed::Tenset => Variant::Tenset,
                Failed::Valid => Variant::Valid,
            });
        if let Some(split) = &self.split {
            options = options.split(split.as_str());
        }
        if let Some(part) = &self.part {
            options = options.part(part.as_str());
        }
        options
    }
}
