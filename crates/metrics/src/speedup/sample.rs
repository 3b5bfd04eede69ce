//! A run as the scores see it, the parameters of a score, and the arguments of a metric that both come from.

use super::tolerance::Interpretation;
use crate::metric::{Argument, Group, Kind};

pub(super) const SPEEDUP: Argument = Argument::of_row(
    "speedup",
    Kind::Number,
    "eager over compiled time, as `runs.speedup`",
);

pub(super) const PASSES: Argument = Argument::of_row(
    "passes",
    Kind::Bits,
    "at which tolerances all outputs are right, as `runs.passes`",
);

pub(super) const STATUS: Argument = Argument::of_row(
    "status",
    Kind::Text,
    "what became of the run, as `runs.upstream_status`; a row without one does not count",
);

pub(super) const T: Argument = Argument::of_group("t", Kind::Whole, "the tolerance, from -10 to 5");

pub(super) const P: Argument =
    Argument::of_group("p", Kind::Number, "power that is added to slowdowns (0)").optional();

pub(super) const B: Argument =
    Argument::of_group("b", Kind::Number, "what a failure counts (0.1)").optional();

pub(super) const INTERPRETATION: Argument = Argument::of_group(
    "interpretation",
    Kind::Text,
    "which failures are tolerated from which t on: 'default' or 'mismatch_extended'",
)
.optional();

/// Fail type of a sample without a speedup that is correct otherwise.
const NO_SPEEDUP: &str = "no_speedup";

/// One sample of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Eager over compiled end-to-end time (`[Speedup][e2e]`).
    pub speedup: Option<f64>,
    /// Bit `t + 10` for t of -10 to 5: every output passes at this level. Others do not pass.
    pub passes: u32,
    /// Status by upstream's rules; anything but `correct` is a failure.
    pub status: String,
}

/// Parameters of the scores (GraphNet paper, section on the speedup score).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Extra exponent of slowdowns; upstream's `--negative-speedup-penalty`.
    pub p: f64,
    /// Speedup that a failure counts as; upstream's `--fpdb`.
    pub b: f64,
    /// Which errors are tolerated.
    pub interpretation: Interpretation,
}

impl Default for Params {
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

/// The samples of a group: rows with a status.
pub(super) fn samples(group: &Group) -> Vec<Sample> {
    let columns = group.numbers(SPEEDUP.name).iter();
    let columns = columns.zip(group.numbers(PASSES.name));
    let mut samples = Vec::new();
    for ((speedup, passes), status) in columns.zip(group.texts(STATUS.name)) {
        if let Some(status) = status {
            samples.push(Sample {
                speedup: *speedup,
                passes: passes.map_or(0, mask),
                status: status.clone(),
            });
        }
    }
    samples
}

/// The parameters that a group sets.
pub(super) fn params(group: &Group) -> Result<Params, String> {
    let usual = Params::default();
    let interpretation = match group.text(INTERPRETATION.name) {
        None => usual.interpretation,
        Some(name) => Interpretation::named(name).ok_or_else(|| {
            format!("interpretation `{name}`: it is 'default' or 'mismatch_extended'")
        })?,
    };
    Ok(Params {
        p: group.number(P.name).unwrap_or(usual.p),
        b: group.number(B.name).unwrap_or(usual.b),
        interpretation,
    })
}

/// The tolerance that a group sets.
#[expect(
    clippy::cast_possible_truncation,
    reason = "levels beyond those of a bit mask pass nowhere"
)]
pub(super) fn tolerance(group: &Group) -> i32 {
    group.number(T.name).map_or(0, |t| t as i32)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it was an Int32, which a double holds"
)]
fn mask(bits: f64) -> u32 {
    (bits as i32).cast_unsigned()
}

pub(super) fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = number(values.len());
    (count > 0.0).then(|| (values.map(f64::ln).sum::<f64>() / count).exp())
}

/// A length as a number; lengths above 2^32 are out of the question for samples.
pub(super) fn number(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}
