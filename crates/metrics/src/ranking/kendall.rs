//! `kendall_tau_b` and `layout_score`: rank correlation, from -1 to 1.

use super::agreement::{count_as_f64, count_pairs};
use super::pair::{RUNTIME, SCORE, ScoredConfig, scored_configs};
use crate::metric::{Evaluation, Metric};

pub(super) const TAU_B: Metric = Metric {
    name: "kendall_tau_b",
    description: "Kendall's tau-b of scores and runtimes, corrected for ties",
    arguments: &[RUNTIME, SCORE],
    example: "SELECT kendall_tau_b(runtime, score) FROM (VALUES (10.0, 0.2), (12.0, 0.1)) AS t(runtime, score)",
    source: "Kendall 1945; Knight 1966; scipy.stats.kendalltau",
    gives: Evaluation::Number(|group| Ok(kendall_tau_b(&scored_configs(group)))),
};

pub(super) const LAYOUT_SCORE: Metric = Metric {
    name: "layout_score",
    description: "The kendall_tau_b: the score of a row of a layout collection",
    example: "SELECT layout_score(runtime, score) FROM (VALUES (10.0, 0.2), (12.0, 0.1)) AS t(runtime, score)",
    source: "Kaggle, \"Google - Fast or Slow?\", evaluation",
    ..TAU_B
};

/// Kendall's tau-b, corrected for ties, as SciPy computes it. Returns `None` if all runtimes or all scores are equal.
pub fn kendall_tau_b(pairs: &[ScoredConfig]) -> Option<f64> {
    let counts = count_pairs(pairs);
    let (all, x, y) = (counts.pairs, counts.score_ties, counts.runtime_ties);
    if all == x || all == y {
        return None;
    }
    let untied = count_as_f64(all - x - y + counts.both_ties);
    let difference = untied - 2.0 * count_as_f64(counts.discordant);
    let tau = difference / count_as_f64(all - x).sqrt() / count_as_f64(all - y).sqrt();
    Some(tau.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_ranking() {
        assert_eq!(kendall_tau_b(&[]), None);
        let pair = |runtime, score| ScoredConfig { runtime, score };
        assert_eq!(kendall_tau_b(&[pair(1.0, 1.0), pair(2.0, 1.0)]), None);
        assert_eq!(kendall_tau_b(&[pair(1.0, 2.0), pair(2.0, 1.0)]), Some(-1.0));
    }
}
