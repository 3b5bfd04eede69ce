//! `ordered_pair_accuracy`: the fraction of pairs in the right order.

use super::agreement::{count_as_f64, count_pairs};
use super::pair::{RUNTIME, SCORE, ScoredConfig, scored_configs};
use crate::metric::{Evaluation, Metric};

pub(super) const ACCURACY: Metric = Metric {
    name: "ordered_pair_accuracy",
    description: "Fraction of the pairs with different runtimes that the scores put in the same order. Lower scores predict lower runtimes, and equal scores are wrong. pairwise_accuracy, TenSet's metric of labels, treats equal numbers differently: it also counts pairs of equal labels, and equal predictions half",
    arguments: &[RUNTIME, SCORE],
    example: "SELECT ordered_pair_accuracy(runtime, score) FROM (VALUES (10.0, 0.1), (12.0, 0.2)) AS t(runtime, score)",
    source: "TpuGraphs (arXiv 2308.13490), section 4",
    gives: Evaluation::Number(|group| Ok(ordered_pair_accuracy(&scored_configs(group)))),
};

/// Fraction of the pairs with different runtimes that the scores put in the same order; equal scores count as wrong.
///
/// [`pairwise_accuracy`](crate::throughput::pairwise_accuracy) treats equal values differently. Returns `None` if all
/// runtimes are equal.
pub fn ordered_pair_accuracy(pairs: &[ScoredConfig]) -> Option<f64> {
    let counts = count_pairs(pairs);
    let comparable = counts.pairs - counts.runtime_ties;
    let untied = comparable + counts.both_ties - counts.score_ties;
    (comparable > 0).then(|| count_as_f64(untied - counts.discordant) / count_as_f64(comparable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_are_wrong() {
        let pair = |runtime, score| ScoredConfig { runtime, score };
        assert_eq!(ordered_pair_accuracy(&[pair(1.0, 1.0)]), None);
        let tied = [pair(1.0, 0.0), pair(2.0, 0.0), pair(3.0, 1.0)];
        assert_eq!(ordered_pair_accuracy(&tied), Some(2.0 / 3.0));
    }
}
