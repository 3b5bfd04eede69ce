//! `top_k_error` and `tile_score`: slowdown of the best configuration among those with the lowest scores.

use super::agreement::nan_last;
use super::pair::{INDEX, RUNTIME, SCORE, ScoredConfig, scored_configs};
use crate::metric::{Argument, Evaluation, Metric, RowGroup, ValueKind};

/// Number of configurations in a row of Kaggle's tile collection.
pub const TILE_K: usize = 5;

const K: Argument = Argument::per_group(
    "k",
    ValueKind::Whole,
    "number of chosen configurations, 1 or more",
);

pub(super) const ERROR: Metric = Metric {
    name: "top_k_error",
    description: "Runtime of the best of the k lowest scores over the best of all, minus 1",
    arguments: &[RUNTIME, SCORE, K, INDEX],
    example: "SELECT top_k_error(runtime, score, 1) FROM (VALUES (10.0, 0.2), (12.0, 0.1)) AS t(runtime, score)",
    source: "TpuGraphs (arXiv 2308.13490), section 4",
    gives: Evaluation::Number(error),
};

pub(super) const TILE_SCORE: Metric = Metric {
    name: "tile_score",
    description: "1 minus the top_k_error of 5: the score of a row of tile:xla",
    arguments: &[RUNTIME, SCORE, INDEX],
    example: "SELECT tile_score(runtime, score) FROM (VALUES (10.0, 0.2), (12.0, 0.1)) AS t(runtime, score)",
    source: "Kaggle, \"Google - Fast or Slow?\", evaluation",
    gives: Evaluation::Number(|group| Ok(tile_score(best_runtime(group), &scored_configs(group)))),
};

/// Runtime of the best of the `k` configurations with the lowest scores, over the best of all, minus 1.
///
/// `best_of_all` is the minimum runtime of all configurations, `scored` those with a score in the order of their
/// indices: for equal scores the lower index is first. Returns `None` without configurations.
pub fn top_k_error(best_of_all: Option<f64>, scored: &[ScoredConfig], k: usize) -> Option<f64> {
    let mut order: Vec<&ScoredConfig> = scored.iter().collect();
    order.sort_by(|a, b| nan_last(a.score, b.score));
    let selected = order.iter().take(k).map(|pair| pair.runtime);
    let best = selected.min_by(f64::total_cmp)?;
    Some(best / best_of_all? - 1.0)
}

/// 1 minus the [`top_k_error`] of the best [`TILE_K`]; `None` without configurations.
pub fn tile_score(best_of_all: Option<f64>, scored: &[ScoredConfig]) -> Option<f64> {
    top_k_error(best_of_all, scored, TILE_K).map(|error| 1.0 - error)
}

fn error(group: &RowGroup) -> Result<Option<f64>, String> {
    match group.number(K.name) {
        None => Ok(None),
        Some(k) if k >= 1.0 => Ok(top_k_error(
            best_runtime(group),
            &scored_configs(group),
            to_k(k),
        )),
        Some(k) => Err(format!("top_k_error: k is {k}, expected 1 or more")),
    }
}

/// Minimum runtime of all configurations.
fn best_runtime(group: &RowGroup) -> Option<f64> {
    let runtimes = group.numbers(RUNTIME.name).iter().flatten();
    runtimes.copied().reduce(f64::min)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is at least 1, and a k that is too large selects all"
)]
fn to_k(k: f64) -> usize {
    k as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(runtimes: &[f64], scores: &[f64]) -> Vec<ScoredConfig> {
        let both = runtimes.iter().zip(scores);
        both.map(|(&runtime, &score)| ScoredConfig { runtime, score })
            .collect()
    }

    #[test]
    fn edges() {
        assert_eq!(top_k_error(None, &[], 5), None);
        let tied = pairs(&[3.0, 1.0, 2.0], &[0.0, -0.0, 0.0]);
        assert_eq!(top_k_error(Some(1.0), &tied, 1), Some(2.0));
        assert_eq!(top_k_error(Some(1.0), &tied, 9), Some(0.0));
        assert_eq!(tile_score(Some(1.0), &tied), Some(1.0));
        let unknown = pairs(&[1.0, 2.0], &[f64::NAN, 0.5]);
        assert_eq!(top_k_error(Some(1.0), &unknown, 1), Some(1.0));
    }

    #[test]
    fn of_equal_scores_the_lower_index_comes_first() {
        let mut group = RowGroup::new(ERROR.arguments);
        group.add_numbers(0, [Some(4.0), Some(2.0), Some(1.0), None]);
        group.add_numbers(1, [Some(0.5), Some(0.5), None, Some(0.1)]);
        group.add_numbers(2, [Some(1.0); 4]);
        group.add_numbers(3, [Some(7.0), Some(3.0), Some(1.0), Some(2.0)]);
        // The row without a score is the best of all; the row without a runtime does not count.
        assert_eq!(error(&group), Ok(Some(1.0)));
    }
}
