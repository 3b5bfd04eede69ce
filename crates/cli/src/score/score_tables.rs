//! Tables of scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use tsql_ml::score::{Predictor, Score, ScoreReport, ScoreRow, Scoring};

/// Names and values of columns.
type Columns = Vec<(String, ArrayRef)>;

/// Returns a row for each group and predictor. The main scores, or with `all_intervals` all scores, have their
/// intervals.
pub(super) fn columns(report: &ScoreReport, all_intervals: bool, is_rounded: bool) -> Columns {
    let rows = &report.rows;
    let texts = |get: &dyn Fn(&ScoreRow) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let counts = |get: &dyn Fn(&ScoreRow) -> Option<u64>| -> ArrayRef {
        let counts = rows.iter().map(|row| get(row).map(u64::cast_signed));
        Arc::new(counts.collect::<Int64Array>())
    };
    let mut columns: Columns = vec![(report.groups.clone(), texts(&|row| Some(row.group.clone())))];
    if rows.iter().any(|row| row.platform.is_some()) {
        columns.push(("platform".to_owned(), texts(&|row| row.platform.clone())));
    }
    let predictor = |row: &ScoreRow| Some(row.predictor.name().to_owned());
    columns.push(("predictor".to_owned(), texts(&predictor)));
    if matches!(report.scoring, Scoring::Tenset | Scoring::Tlp) {
        let variant = |row: &ScoreRow| match row.predictor {
            Predictor::Predictions | Predictor::Random => Some(report.variant.clone()),
            _ => Some("valid".to_owned()),
        };
        columns.push(("variant".to_owned(), texts(&variant)));
    }
    columns.push(("tasks".to_owned(), counts(&|row| Some(row.tasks))));
    if rows.iter().any(|row| row.network_tasks.is_some()) {
        let network_tasks = counts(&|row| row.network_tasks);
        columns.push(("network_tasks".to_owned(), network_tasks));
    }
    columns.push(("rows".to_owned(), counts(&|row| Some(row.rows))));
    columns.push(("failed".to_owned(), counts(&|row| Some(row.failed))));
    if report.missing > 0 {
        columns.push(("missing".to_owned(), counts(&|row| Some(row.missing))));
    }
    for (index, metric) in report.metrics.iter().enumerate() {
        let scores = |get: fn(&Score) -> Option<f64>| -> ArrayRef {
            let scores = rows.iter().map(|row| row.scores.get(index).and_then(get));
            let shown = scores.map(|score| score.map(|score| round(score, is_rounded)));
            Arc::new(shown.collect::<Float64Array>())
        };
        columns.push((metric.clone(), scores(|score| score.value)));
        if all_intervals || report.main_metrics.contains(metric) {
            columns.push((format!("{metric}_low"), scores(|score| score.low)));
            columns.push((format!("{metric}_high"), scores(|score| score.high)));
        }
    }
    columns
}

/// Rounds to four digits after the point if `is_rounded`.
pub(super) fn round(score: f64, is_rounded: bool) -> f64 {
    let shown = (score * 1e4).round() / 1e4;
    if is_rounded && shown.is_finite() {
        shown
    } else {
        score
    }
}

/// Returns the metrics of the predictions for which tasks are left out, with the reason and the number of tasks.
pub(super) fn left_out(report: &ScoreReport) -> Vec<(String, String, u64)> {
    let mut most: BTreeMap<(&String, &String), u64> = BTreeMap::new();
    let rows = report.rows.iter();
    for row in rows.filter(|row| row.predictor == Predictor::Predictions) {
        for (metric, score) in report.metrics.iter().zip(&row.scores) {
            for (reason, tasks) in &score.excluded_tasks {
                let known = most.entry((metric, reason)).or_default();
                // The row over all groups contains each task once.
                *known = (*known).max(*tasks);
            }
        }
    }
    let mut by_reason: BTreeMap<(&String, u64), Vec<&str>> = BTreeMap::new();
    for ((metric, reason), tasks) in most {
        by_reason.entry((reason, tasks)).or_default().push(metric);
    }
    let entries = by_reason.into_iter();
    entries
        .map(|((reason, tasks), metrics)| (metrics.join(", "), reason.clone(), tasks))
        .collect()
}
