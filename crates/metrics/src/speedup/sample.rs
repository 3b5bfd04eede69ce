//! Input of speedup metrics: a sample, the parameters, and the SQL arguments that define them.

use super::tolerance::Interpretation;
use crate::metric::{Argument, RowGroup, ValueKind};

pub(super) const SPEEDUP: Argument = Argument::per_row(
    "speedup",
    ValueKind::Number,
    "eager over compiled time, as `runs.speedup`",
);

pub(super) const PASSES: Argument = Argument::per_row(
    "passes",
    ValueKind::Bits,
    "tolerances at which all outputs are correct, as `runs.passes`",
);

pub(super) const STATUS: Argument = Argument::per_row(
    "status",
    ValueKind::Text,
    "status of the run, as `runs.upstream_status`; a row without one does not count",
);

pub(super) const T: Argument =
    Argument::per_group("t", ValueKind::Whole, "the tolerance, from -10 to 5");

pub(super) const P: Argument = Argument::per_group(
    "p",
    ValueKind::Number,
    "exponent that is added to slowdowns (0)",
)
.optional();

pub(super) const B: Argument =
    Argument::per_group("b", ValueKind::Number, "value of a failure (0.1)").optional();

pub(super) const INTERPRETATION: Argument = Argument::per_group(
    "interpretation",
    ValueKind::Text,
    "failures that are tolerated, by t: 'default' or 'mismatch_extended'",
)
.optional();

/// Fail type of a sample that is correct but has no speedup.
const NO_SPEEDUP: &str = "no_speedup";

/// One sample of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Eager over compiled end-to-end time (`[Speedup][e2e]`).
    pub speedup: Option<f64>,
    /// Bit `t + 10`, for t of -10 to 5, is set if every output passes at this level.
    pub passes: u32,
    /// Status by upstream's rules; anything but `correct` is a failure.
    pub status: String,
}

/// Parameters of the scores (GraphNet paper, section on the speedup score).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreParams {
    /// Extra exponent of slowdowns; upstream's `--negative-speedup-penalty`.
    pub p: f64,
    /// Speedup that a failure counts as; upstream's `--fpdb`.
    pub b: f64,
    /// Assignment of errors to tolerance levels.
    pub interpretation: Interpretation,
}

impl Default for ScoreParams {
    /// The values of upstream's code and of the tables in the paper: p = 0, b = 0.1.
    fn default() -> Self {
        Self {
            p: 0.0,
            b: 0.1,
            interpretation: Interpretation::Default,
        }
    }
}

impl Sample {
    /// Speedup if the sample is correct at level `t`, otherwise its fail type.
    pub(super) fn outcome(&self, t: i32) -> Result<f64, &str> {
        if self.status != "correct" {
            return Err(&self.status);
        }
        let bit = (-10..=5).contains(&t).then(|| t + 10);
        let bit = bit.and_then(|bit| u32::try_from(bit).ok());
        let passes = bit
            .and_then(|bit| self.passes.checked_shr(bit))
            .unwrap_or(0)
            & 1
            == 1;
        if passes {
            self.speedup.ok_or(NO_SPEEDUP)
        } else {
            Err("accuracy")
        }
    }
}

/// Returns the samples of a group: rows with a status.
pub(super) fn samples(group: &RowGroup) -> Vec<Sample> {
    let columns = group.numbers(SPEEDUP.name).iter();
    let columns = columns.zip(group.numbers(PASSES.name));
    let mut samples = Vec::new();
    for ((speedup, passes), status) in columns.zip(group.texts(STATUS.name)) {
        if let Some(status) = status {
            samples.push(Sample {
                speedup: *speedup,
                passes: passes.map_or(0, to_mask),
                status: status.clone(),
            });
        }
    }
    samples
}

/// Returns the parameters that a group sets.
pub(super) fn params(group: &RowGroup) -> Result<ScoreParams, String> {
    let fallback = ScoreParams::default();
    let interpretation = match group.text(INTERPRETATION.name) {
        None => fallback.interpretation,
        Some(name) => Interpretation::from_name(name).ok_or_else(|| {
            format!("unknown interpretation `{name}`, expected 'default' or 'mismatch_extended'")
        })?,
    };
    Ok(ScoreParams {
        p: group.number(P.name).unwrap_or(fallback.p),
        b: group.number(B.name).unwrap_or(fallback.b),
        interpretation,
    })
}

/// Returns the tolerance that a group sets.
#[expect(
    clippy::cast_possible_truncation,
    reason = "levels beyond the bits of a mask pass nowhere"
)]
pub(super) fn tolerance(group: &RowGroup) -> i32 {
    group.number(T.name).map_or(0, |t| t as i32)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it was an Int32, which a double holds"
)]
fn to_mask(bits: f64) -> u32 {
    (bits as i32).cast_unsigned()
}

pub(super) fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = length_as_f64(values.len());
    (count > 0.0).then(|| (values.map(f64::ln).sum::<f64>() / count).exp())
}

/// Converts a length to `f64`. Lengths above 2^32 do not occur for samples.
pub(super) fn length_as_f64(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}
