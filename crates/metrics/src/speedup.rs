//! Scores S(t) and ES(t) of the GraphNet paper, from samples and from aggregated numbers.
//!
//! A sample that is correct but has no speedup stops upstream with a `TypeError`. Here it counts as
//! failed with the fail type `no_speedup`, which is tolerated from t = 3 on like a runtime error.
//! A speedup of 0 makes a score 0, as upstream.

use std::ops::RangeInclusive;

/// Fail type of a sample without a speedup that is correct otherwise.
pub(crate) const NO_SPEEDUP: &str = "no_speedup";

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

/// Which errors count as tolerated from which level on
/// (`*_positive_tolerance_interpretation.py`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpretation {
    /// Wrong values from 1 on, everything else from 3 on.
    #[default]
    Default,
    /// Wrong values from 1, nan, infinity, type and shape mismatches from 2, other errors at run
    /// time from 3, failures to compile from 4 on; failures of the eager run or reference never.
    MismatchExtended,
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

/// The aggregated numbers at one level (GraphNet paper, Appendices B and C).
#[derive(Clone, Debug, PartialEq)]
pub struct Macro {
    /// Geometric mean of the speedups of the correct samples; 1 if there are none.
    pub alpha: f64,
    /// Geometric mean of the speedups below 1 of the correct samples; 1 if there are none.
    pub beta: f64,
    /// Share of correct samples in all.
    pub lambda: f64,
    /// Share of slowdowns in the correct samples; 0 if there are none.
    pub eta: f64,
    /// Mean penalty of an error.
    pub gamma: f64,
    /// S(t) by the formula.
    pub s: f64,
    /// ES(t) by the formula.
    pub es: f64,
    /// Share of each kind of error in all errors, by upstream's number of the kind; only kinds that
    /// occur, and empty below t = 1. Names as upstream's `get_error_type`.
    pub pi: Vec<(String, f64)>,
    /// Number of correct samples.
    pub correct: u64,
    /// Number of samples.
    pub total: u64,
    /// Number of correct samples with a speedup below 1.
    pub slowdowns: u64,
}

impl Interpretation {
    /// Levels that upstream computes scores for.
    pub fn levels(self) -> RangeInclusive<i32> {
        match self {
            Self::Default => -10..=4,
            Self::MismatchExtended => -10..=5,
        }
    }

    /// Level from which on a single sample's failure is tolerated; `None` for never.
    pub(crate) fn tolerated_from(self, fail_type: &str) -> Option<i32> {
        match (self, fail_type) {
            (Self::MismatchExtended, "eager_fail" | "reference_fail") => None,
            _ => Some(self.kind(fail_type).tolerated_from),
        }
    }

    /// Kind of a failure in the aggregated form. Upstream looks for parts of words, and here a
    /// failure of the eager run is an error at run time in both interpretations.
    fn kind(self, fail_type: &str) -> Kind {
        let text = fail_type.to_lowercase();
        let mismatch = ["nan", "inf", "type_mismatch", "shape_mismatch"];
        let kind = |name, tolerated_from| Kind {
            name,
            tolerated_from,
        };
        if text.contains("accuracy") {
            return kind("accuracy", 1);
        }
        match self {
            Self::Default if text.contains("compile_fail") => kind("compile_fail", 3),
            Self::Default => kind("runtime_fail", 3),
            _ if mismatch.iter().any(|part| text.contains(part)) => kind("type/shape_mismatch", 2),
            _ if text.contains("compile_fail") => kind("compile_fail", 4),
            _ => kind("runtime_fail", 3),
        }
    }
}

/// A kind of error in the aggregated form.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    tolerated_from: i32,
}

/// Order of the kinds: upstream's numbers.
const KINDS: [&str; 4] = [
    "accuracy",
    "type/shape_mismatch",
    "runtime_fail",
    "compile_fail",
];

impl Sample {
    /// Speedup if the sample is correct at level `t`, otherwise its fail type.
    fn outcome(&self, t: i32) -> Result<f64, &str> {
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

/// S(t): geometric mean over all samples, where a slowdown counts to the power p + 1 and a failure
/// counts b. `None` without samples.
///
/// Source: `calculate_scores` in upstream's `analysis_util.py`, type `St`.
pub fn speedup_score(samples: &[Sample], t: i32, params: &Params) -> Option<f64> {
    geometric_mean(samples.iter().map(|sample| match sample.outcome(t) {
        Ok(speedup) => rectified(speedup, params.p),
        Err(_) => params.b,
    }))
}

/// ES(t): below t = 1 the same as S(t); from 1 on a sample counts as it does at 1, but a failure
/// that is tolerated at t counts 1 instead of b. `None` without samples.
///
/// Source: `calculate_scores` in upstream's `analysis_util.py`, type `ESt`.
pub fn error_aware_speedup_score(samples: &[Sample], t: i32, params: &Params) -> Option<f64> {
    geometric_mean(samples.iter().map(|sample| match sample.outcome(t.min(1)) {
        Ok(speedup) => rectified(speedup, params.p),
        Err(fail_type) => {
            let from = params.interpretation.tolerated_from(fail_type);
            if t >= 1 && from.is_some_and(|from| t >= from) {
                1.0
            } else {
                params.b
            }
        }
    }))
}

/// The aggregated numbers at level `t`; from t = 1 on all of them but gamma are those of t = 1.
/// `None` without samples.
///
/// With the extended interpretation `es` differs from [`error_aware_speedup_score`] where eager
/// runs failed: the aggregated form tolerates these from 3 on. From t = 2 on `s` differs from
/// [`speedup_score`] where a sample is correct at t but not at 1. Both are as upstream.
/// Source: `samples_statistics.py`; GraphNet paper, Appendices B and C.
pub fn macro_score(samples: &[Sample], t: i32, params: &Params) -> Option<Macro> {
    if samples.is_empty() {
        return None;
    }
    let mut speedups = Vec::new();
    let mut kinds = Vec::new();
    for sample in samples {
        match sample.outcome(t.min(1)) {
            Ok(speedup) => speedups.push(speedup),
            Err(fail_type) => kinds.push(params.interpretation.kind(fail_type)),
        }
    }
    let slowdowns: Vec<f64> = speedups
        .iter()
        .copied()
        .filter(|speedup| *speedup < 1.0)
        .collect();
    let (correct, total) = (number(speedups.len()), number(samples.len()));
    let errors = number(kinds.len());
    let mut pi = Vec::new();
    let mut penalized = 0.0;
    if t >= 1 {
        for name in KINDS {
            let same: Vec<&Kind> = kinds.iter().filter(|kind| kind.name == name).collect();
            let Some(kind) = same.first() else { continue };
            let share = number(same.len()) / errors;
            if t < kind.tolerated_from {
                penalized += share;
            }
            pi.push((name.to_owned(), share));
        }
    }
    let alpha = geometric_mean(speedups.iter().copied()).unwrap_or(1.0);
    let beta = geometric_mean(slowdowns.iter().copied()).unwrap_or(1.0);
    let lambda = correct / total;
    let eta = if speedups.is_empty() {
        0.0
    } else {
        number(slowdowns.len()) / correct
    };
    let gamma = if t < 1 {
        params.b
    } else {
        params.b.powf(penalized)
    };
    Some(Macro {
        alpha,
        beta,
        lambda,
        eta,
        gamma,
        s: aggregated_score(alpha, beta, lambda, eta, params.p, params.b),
        es: aggregated_score(alpha, beta, lambda, eta, params.p, gamma),
        pi,
        correct: count(speedups.len()),
        total: count(samples.len()),
        slowdowns: count(slowdowns.len()),
    })
}

/// alpha^lambda * beta^(lambda*eta*p) * penalty^(1-lambda): S(t) with b as the penalty, ES(t) with
/// gamma.
///
/// Source: GraphNet paper, Appendices B and C; `calculate_s_t_from_aggregated` and
/// `calculate_es_t_from_aggregated` in `samples_statistics.py`.
pub fn aggregated_score(alpha: f64, beta: f64, lambda: f64, eta: f64, p: f64, penalty: f64) -> f64 {
    alpha.powf(lambda) * beta.powf(lambda * eta * p) * penalty.powf(1.0 - lambda)
}

/// One number for a run: weighted mean of log10 ES(t) over t of -10 to 4. `None` without samples;
/// -infinity if a score is 0.
///
/// Source: `aggregate_es_scores.py`. Its weights stem from ES scores of NLP models on an A100
/// relative to an H20; a later version returns 10 to the power of this number.
pub fn aggregate_score(samples: &[Sample], params: &Params) -> Option<f64> {
    let mut weights = 0.0;
    let mut sum = 0.0;
    for t in -10..=4 {
        let weight = match t {
            ..=-8 => 0.001,
            -7 => 0.13,
            -6 => 0.40,
            _ => 0.48,
        };
        weights += weight;
        sum += weight * error_aware_speedup_score(samples, t, params)?.log10();
    }
    Some(sum / weights)
}

/// A slowdown to the power p + 1, a speedup as it is.
fn rectified(speedup: f64, p: f64) -> f64 {
    if speedup < 1.0 {
        speedup.powf(p + 1.0)
    } else {
        speedup
    }
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = number(values.len());
    (count > 0.0).then(|| (values.map(f64::ln).sum::<f64>() / count).exp())
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A length as a number; lengths above 2^32 are out of the question for samples.
fn number(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}
