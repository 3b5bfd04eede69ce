//! Result of a pair before and after the correction of p.

use tsql_metrics::change::{CorrectedPValues, PairComparison, Verdict};
use tsql_verdicts::run_test::{
    ALPHA, MIN_RUNS_WITHOUT_FLOOR, RunTest, detectable_change, runs_needed,
};
use tsql_verdicts::verdict::{PairTest, Reason, decide, verdict};

/// A compared pair, uncorrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ComparedPair {
    /// Times of both sides in nanoseconds.
    pub(super) ns: [f64; 2],
    pub(super) outcome: PairOutcome,
}

/// Outcome by the rule of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PairOutcome {
    Ranks(PairComparison),
    Runs(PairTest),
}

/// A pair with its verdict.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecidedPair {
    pub(super) ns: [f64; 2],
    /// Change as a logarithm.
    pub(super) log_change: f64,
    /// 95 % interval of the change as logarithms.
    pub(super) interval: Option<(f64, f64)>,
    /// The test of runs; `None` for ranks, and for pairs without a test.
    pub(super) test: Option<RunTest>,
    /// Numbers of runs and days of both sides; `None` for ranks.
    pub(super) runs: Option<[usize; 2]>,
    pub(super) days: Option<[usize; 2]>,
    pub(super) p: f64,
    pub(super) p_corrected: f64,
    pub(super) detectable: Option<f64>,
    pub(super) verdict: Verdict,
    pub(super) reason: Option<Reason>,
    /// The comparison of ranks.
    ranks: Option<PairComparison>,
}

impl ComparedPair {
    /// p-value of the pair alone; 1 without a test.
    pub(super) fn p(&self) -> f64 {
        match &self.outcome {
            PairOutcome::Ranks(found) => found.p,
            PairOutcome::Runs(found) => found.test.map_or(1.0, |test| test.p),
        }
    }

    /// Returns the pair with its verdict.
    pub(super) fn decide(self, all: &CorrectedPValues, minimum_change: f64) -> DecidedPair {
        let p = self.p();
        let p_corrected = all.get(p);
        match self.outcome {
            PairOutcome::Ranks(found) => {
                let found = found.with_correction(all, minimum_change);
                DecidedPair {
                    ns: self.ns,
                    log_change: found.change.ln_1p(),
                    interval: Some((found.change_low.ln_1p(), found.change_high.ln_1p())),
                    test: None,
                    runs: None,
                    days: None,
                    p,
                    p_corrected,
                    detectable: None,
                    verdict: found.verdict,
                    reason: None,
                    ranks: Some(found),
                }
            }
            PairOutcome::Runs(found) => {
                let (verdict, reason) = decide(found.test, p_corrected, minimum_change);
                let test = found.test.ok();
                let [a, b] = self.ns;
                DecidedPair {
                    ns: self.ns,
                    log_change: found.change.unwrap_or_else(|| (b / a).ln()),
                    interval: test.map(|test| test.interval()),
                    test,
                    runs: Some(found.runs),
                    days: Some(found.days),
                    p,
                    p_corrected,
                    detectable: test.map(|test| detectable_change(&test)),
                    verdict,
                    reason,
                    ranks: None,
                }
            }
        }
    }
}

impl DecidedPair {
    /// Time of the first side over that of the second.
    pub(super) fn speedup(&self) -> f64 {
        (-self.log_change).exp()
    }

    /// Makes the verdict unclear because a control program moved.
    pub(super) fn with_moved_anchor(self) -> Self {
        Self {
            verdict: Verdict::Unclear,
            reason: Some(Reason::AnchorMoved),
            ..self
        }
    }

    /// Returns whether the pair is significantly slower by at least `allowed`, as a fraction.
    pub(super) fn is_slower_than(&self, allowed: f64) -> bool {
        if self.reason == Some(Reason::AnchorMoved) {
            return false;
        }
        let found = match (&self.ranks, &self.test) {
            (Some(ranks), _) => ranks.verdict_at(allowed),
            (None, Some(test)) => verdict(test, self.p_corrected, allowed, ALPHA),
            (None, None) => Verdict::Unclear,
        };
        found == Verdict::Slower
    }

    /// Returns whether the pair is unclear and cannot show a change of `allowed`.
    pub(super) fn is_undecided(&self, allowed: f64) -> bool {
        let is_blind = self.detectable.is_none_or(|change| change > allowed);
        let is_untrusted = self.reason == Some(Reason::AnchorMoved);
        self.verdict == Verdict::Unclear && (is_blind || is_untrusted)
    }

    /// Number of runs on each side that would find `change`; `None` for decided pairs, and where runs do not help.
    pub(super) fn runs_needed(&self, change: f64) -> Option<u32> {
        let [a, b] = self.runs?;
        if self.verdict != Verdict::Unclear || change <= 0.0 {
            return None;
        }
        match self.reason? {
            Reason::NoFloor | Reason::FewRuns if self.test.is_none() => {
                u32::try_from(MIN_RUNS_WITHOUT_FLOOR).ok()
            }
            Reason::BelowDetectable | Reason::FewRuns => {
                let test = self.test?;
                let per_run =
                    |runs: usize| 1.0 / f64::from(u32::try_from(runs).unwrap_or(u32::MAX));
                let sigma = test.se / (per_run(a) + per_run(b)).sqrt();
                let more = u32::try_from(a.min(b))
                    .unwrap_or(u32::MAX)
                    .saturating_add(1);
                Some(runs_needed(sigma, change).max(more))
            }
            _ => None,
        }
    }
}
