//! Result of a pair.

use std::collections::HashMap;

use serde::Serialize;
use tsql_metrics::change::{PValues, Verdict};
use tsql_verdicts::blocks::{BlockSide, contrast_test, schedule};
use tsql_verdicts::overall::OverallChange;
use tsql_verdicts::run_test::{ALPHA, RunTest, detectable_change};
use tsql_verdicts::verdict::verdict;

use super::levels::ProgramLevels;

/// Result of a pair.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PairReport {
    /// Version of this document.
    pub version: u32,
    /// Value of the label `pair` of all sources.
    pub pair: String,
    /// Minimum change that is significant, as a fraction.
    pub minimum_change: f64,
    /// The runs, in their order.
    pub runs: Vec<PairRun>,
    /// Whether the budget ended before all programs were decided.
    pub is_out_of_budget: bool,
    /// Number of looks at the results.
    pub looks: usize,
    /// Mean change over all programs, as a fraction; `None` without a program.
    pub change: Option<f64>,
    /// Lower bound of its 95 % interval, which includes the noise that all programs share.
    pub low: Option<f64>,
    /// Upper bound of the interval.
    pub high: Option<f64>,
    /// Programs, the slowest change first.
    pub programs: Vec<PairProgram>,
    /// Smallest p-value of each program over the looks so far.
    #[serde(skip)]
    smallest_p: HashMap<(String, String), f64>,
}

/// A run of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairRun {
    /// `base` or `head`.
    pub side: &'static str,
    /// Number of its block, from 1.
    pub block: usize,
    /// Position in the block, 1 to 4.
    pub position: usize,
    /// Stream of the records.
    pub stream: String,
    /// Exit code; `None` after a signal.
    pub exit_code: Option<i32>,
    /// Number of records.
    pub records: u64,
    /// Number of rejected lines.
    pub rejects: u64,
    /// Whether the command failed, which ends the schedule.
    pub is_failed: bool,
}

/// A program with its change from base to head.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairProgram {
    /// `graphs.workload_key`.
    pub workload_key: String,
    /// `configurations.steps`.
    pub steps: String,
    /// `faster`, `slower`, `same` or `unclear`; `failed` if head fails and base does not, `fixed` the other way round,
    /// `failing` if both fail, and `missing` if a side has no time of it, or only disturbed ones.
    pub verdict: &'static str,
    /// Number of complete blocks.
    pub blocks: usize,
    /// Time of base, as the geometric mean of its runs in nanoseconds.
    pub base_ns: Option<f64>,
    /// Time of head.
    pub head_ns: Option<f64>,
    /// Time of head over time of base, minus 1: 0.03 is 3 % slower. `None` without a complete block.
    pub change: Option<f64>,
    /// Lower bound of its 95 % interval.
    pub low: Option<f64>,
    /// Upper bound of its 95 % interval.
    pub high: Option<f64>,
    /// p-value over all looks.
    pub p: f64,
    /// p-value corrected for all programs after Benjamini and Hochberg.
    pub p_corrected: f64,
    /// Change that the test finds with a probability of 80 %, as a fraction.
    pub detectable: Option<f64>,
}

impl PairReport {
    pub(super) fn new(pair: String, minimum_change: f64) -> Self {
        Self {
            version: 1,
            pair,
            minimum_change,
            runs: Vec::new(),
            is_out_of_budget: false,
            looks: 0,
            change: None,
            low: None,
            high: None,
            programs: Vec::new(),
            smallest_p: HashMap::new(),
        }
    }

    /// Number of programs that more blocks may decide.
    pub(super) fn unclear(&self) -> usize {
        self.count("unclear")
    }

    /// Number of programs without a verdict: unclear ones, and those that a side did not time.
    #[must_use]
    pub fn undecided(&self) -> usize {
        self.count("unclear") + self.count("missing")
    }

    /// Number of programs with this verdict.
    #[must_use]
    pub fn count(&self, verdict: &str) -> usize {
        let programs = self.programs.iter();
        programs
            .filter(|program| program.verdict == verdict)
            .count()
    }

    /// Programs that are slower than allowed, or fail in head only. `allowed` is a fraction.
    pub fn regressions(&self, allowed: f64) -> impl Iterator<Item = &PairProgram> {
        self.programs.iter().filter(move |program| {
            let is_slower = program.verdict == "slower" && program.change > Some(allowed);
            is_slower || program.verdict == "failed"
        })
    }

    /// Returns whether more blocks may decide a program.
    pub(super) fn is_unclear(&self, levels: &ProgramLevels) -> bool {
        self.programs.iter().any(|program| {
            program.verdict == "unclear"
                && program.workload_key == levels.workload_key
                && program.steps == levels.steps
        })
    }

    /// Tests all programs. `looks` is the number of looks that share the error rate.
    pub(super) fn look(&mut self, levels: &[ProgramLevels], looks: usize) {
        self.looks += 1;
        #[expect(clippy::cast_precision_loss, reason = "a few looks")]
        let looks = looks as f64;
        let tests = levels.iter().map(|program| {
            let test = contrast_test(&program.contrasts(), None);
            let key = (program.workload_key.clone(), program.steps.clone());
            let smallest = self.smallest_p.entry(key).or_insert(1.0);
            *smallest = smallest.min(test.map_or(1.0, |test| test.p));
            (test, (*smallest * looks).min(1.0))
        });
        let tests: Vec<(Option<RunTest>, f64)> = tests.collect();
        let all: PValues = tests.iter().map(|(_, p)| *p).collect();
        let corrected = all.benjamini_hochberg();
        let mut overall = OverallChange::default();
        self.programs = levels
            .iter()
            .zip(&tests)
            .map(|(program, (test, p))| {
                if let Some(test) = test {
                    overall.add(test.change, Some(test));
                }
                self.describe(program, test.as_ref(), *p, corrected.get(*p), looks)
            })
            .collect();
        self.programs.sort_by(|one, other| {
            let size = |program: &PairProgram| program.change.unwrap_or(f64::NEG_INFINITY);
            size(other).total_cmp(&size(one))
        });
        self.change = overall.change().map(f64::exp_m1);
        let interval = overall.interval();
        self.low = interval.map(|(low, _)| low.exp_m1());
        self.high = interval.map(|(_, high)| high.exp_m1());
    }

    fn describe(
        &self,
        program: &ProgramLevels,
        test: Option<&RunTest>,
        p: f64,
        p_corrected: f64,
        looks: f64,
    ) -> PairProgram {
        let contrasts = program.contrasts();
        let [base, head] =
            [BlockSide::A, BlockSide::B].map(|side| Side::from_levels(program, side));
        let word = match (base, head) {
            (Side::Timed(_), Side::Timed(_)) => match test {
                Some(test) => word_of(test, p_corrected, self.minimum_change, looks),
                None => "unclear",
            },
            (Side::Timed(_), Side::Failed) => "failed",
            (Side::Failed, Side::Timed(_)) => "fixed",
            (Side::Failed, Side::Failed) => "failing",
            (Side::Missing, _) | (_, Side::Missing) => "missing",
        };
        let interval = test.map(RunTest::interval);
        PairProgram {
            workload_key: program.workload_key.clone(),
            steps: program.steps.clone(),
            verdict: word,
            blocks: contrasts.len(),
            base_ns: base.time_ns(),
            head_ns: head.time_ns(),
            change: test.map(|test| test.change.exp_m1()),
            low: interval.map(|(low, _)| low.exp_m1()),
            high: interval.map(|(_, high)| high.exp_m1()),
            p,
            p_corrected,
            detectable: test.map(detectable_change),
        }
    }
}

/// Returns the verdict. The same is claimed at a look, so its error rate is that of a look.
fn word_of(test: &RunTest, p_corrected: f64, minimum_change: f64, looks: f64) -> &'static str {
    match verdict(test, p_corrected, minimum_change, ALPHA) {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same | Verdict::Unclear => {
            match verdict(test, 1.0, minimum_change, ALPHA / looks) {
                Verdict::Same => "same",
                _ => "unclear",
            }
        }
    }
}

/// Runs of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    /// Mean level.
    Timed(f64),
    Failed,
    Missing,
}

impl Side {
    fn from_levels(program: &ProgramLevels, side: BlockSide) -> Self {
        let last = program.levels.keys().chain(program.failures.keys()).max();
        let sides = schedule(last.map_or(0, |run| run / tsql_verdicts::blocks::BLOCK_RUNS + 1));
        let is_of = |run: &usize| sides.get(*run) == Some(&side);
        let levels = program.levels.iter().filter(|(run, _)| is_of(run));
        let levels: Vec<f64> = levels.map(|(_, level)| *level).collect();
        if program.failures.keys().any(is_of) {
            return Self::Failed;
        }
        if levels.is_empty() {
            return Self::Missing;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few runs")]
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        Self::Timed(mean)
    }

    fn time_ns(self) -> Option<f64> {
        match self {
            Self::Timed(level) => Some(level.exp()),
            Self::Failed | Self::Missing => None,
        }
    }
}
