//! `rmse`, `r2`, `mape`: errors of predicted labels.

use super::row::{LABEL, PREDICTION, PredictedRow, finite_count, rankable_count, rows};
use super::undefined::Undefined;
use crate::metric::{Evaluation, Metric};

/// Sum of squares below which upstream treats labels as equal.
const MIN_SQUARED_SPREAD: f64 = 1e-6;

pub(super) const RMSE: Metric = Metric {
    name: "rmse",
    description: "Root of the mean squared difference of predictions and labels. NULL if a prediction is NaN or infinite",
    arguments: &[LABEL, PREDICTION],
    example: "SELECT rmse(label, prediction) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_rmse` in `cost_model/metric.py`",
    gives: Evaluation::Number(|group| Ok(rmse(&rows(group)).ok())),
};

pub(super) const R2: Metric = Metric {
    name: "r2",
    description: "1 minus the sum of squared errors over the sum of squared distances of the labels from their mean (regr_r2 is the square of a correlation). NULL for one row, for equal labels, and if a prediction is NaN or infinite",
    example: "SELECT r2(label, prediction) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_r_squared` in `cost_model/metric.py`, which gives 1 for equal labels",
    gives: Evaluation::Number(|group| Ok(r2(&rows(group)).ok())),
    ..RMSE
};

pub(super) const MAPE: Metric = Metric {
    name: "mape",
    description: "Mean of the absolute differences over the labels, as a fraction. Infinite if a label is 0; NULL if a prediction is NaN or infinite",
    example: "SELECT mape(label, prediction) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_mape` in `cost_model/metric.py`",
    gives: Evaluation::Number(|group| Ok(mape(&rows(group)).ok())),
    ..RMSE
};

/// Root of the mean squared error.
///
/// # Errors
/// [`Undefined`] without rows, or if a number is not finite.
pub fn rmse(rows: &[PredictedRow]) -> Result<f64, Undefined> {
    let count = finite_count(rows)?;
    Ok((squared_error(rows) / count).sqrt())
}

/// Coefficient of determination: 1 minus the sum of squared errors over the sum of squared distances of the labels from
/// their mean.
///
/// # Errors
/// As [`rmse`], and for one row or labels whose squared distances sum up to less than 1e-6, for which upstream returns
/// 1.
pub fn r2(rows: &[PredictedRow]) -> Result<f64, Undefined> {
    let count = rankable_count(rows)?;
    let mean = rows.iter().map(|row| row.label).sum::<f64>() / count;
    let spread: f64 = rows.iter().map(|row| (row.label - mean).powi(2)).sum();
    match spread < MIN_SQUARED_SPREAD {
        true => Err(Undefined::OneLabel),
        false => Ok(1.0 - squared_error(rows) / spread),
    }
}

/// Mean of the absolute errors relative to the labels, as a fraction; infinite if a label is 0.
///
/// # Errors
/// As [`rmse`].
pub fn mape(rows: &[PredictedRow]) -> Result<f64, Undefined> {
    let count = finite_count(rows)?;
    let difference = |row: &PredictedRow| match row.label - row.prediction {
        0.0 => 0.0,
        difference => (difference / row.label).abs(),
    };
    Ok(rows.iter().map(difference).sum::<f64>() / count)
}

fn squared_error(rows: &[PredictedRow]) -> f64 {
    let difference = rows.iter().map(|row| row.prediction - row.label);
    difference.map(|difference| difference * difference).sum()
}
