//! Input of throughput metrics: a program, and the SQL arguments that define it.

use super::undefined::Undefined;
use crate::metric::{Argument, RowGroup, ValueKind};
use crate::ranking::agreement::nan_last;

pub(super) const LABEL: Argument = Argument::per_row(
    "label",
    ValueKind::Number,
    "measured value, higher for a faster program: its throughput relative to the best",
);

pub(super) const PREDICTION: Argument = Argument::per_row(
    "prediction",
    ValueKind::Number,
    "predicted value, higher for a faster program",
);

pub(super) const INDEX: Argument = Argument::per_row(
    "index",
    ValueKind::Whole,
    "position of the row, which orders equal numbers as upstream does",
)
.optional();

pub(super) const K: Argument = Argument::per_group(
    "k",
    ValueKind::Whole,
    "number of chosen programs, 1 or more",
);

/// A program with its label and its prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedRow {
    /// Throughput relative to the task's best, in 0 to 1.
    pub label: f64,
    /// Prediction: higher for a faster program.
    pub prediction: f64,
    /// Position among the rows; NaN if unknown.
    pub index: f64,
}

/// Returns the rows that have a label and a prediction.
pub(super) fn rows(group: &RowGroup) -> Vec<PredictedRow> {
    let (predictions, indices) = (group.numbers(PREDICTION.name), group.numbers(INDEX.name));
    let labels = group.numbers(LABEL.name).iter().enumerate();
    let row = |(position, label): (usize, &Option<f64>)| {
        Some(PredictedRow {
            label: (*label)?,
            prediction: predictions.get(position).copied().flatten()?,
            index: indices.get(position).copied().flatten().unwrap_or(f64::NAN),
        })
    };
    labels.filter_map(row).collect()
}

/// Number of rows, if there are any and all their numbers are finite.
pub(super) fn finite_count(rows: &[PredictedRow]) -> Result<f64, Undefined> {
    if rows.iter().any(|row| !row.prediction.is_finite()) {
        return Err(Undefined::Prediction);
    }
    if rows.iter().any(|row| !row.label.is_finite()) {
        return Err(Undefined::Label);
    }
    match rows.len() {
        0 => Err(Undefined::NoRows),
        count => Ok(float(count)),
    }
}

/// Number of rows, if they can be ranked: at least two, with different labels.
pub(super) fn rankable_count(rows: &[PredictedRow]) -> Result<f64, Undefined> {
    let count = finite_count(rows)?;
    let (first, others) = rows.split_first().ok_or(Undefined::NoRows)?;
    if others.is_empty() {
        return Err(Undefined::OneRow);
    }
    let is_as_first = |row: &PredictedRow| nan_last(row.label, first.label).is_eq();
    match others.iter().all(is_as_first) {
        true => Err(Undefined::OneLabel),
        false => Ok(count),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rows that are in memory")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

/// Parses k, which must be at least 1; `None` if the call does not have it.
pub(super) fn parse_k(group: &RowGroup, name: &str) -> Result<Option<usize>, String> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is at least 1, and a k that is too large selects all"
    )]
    match group.number(K.name) {
        Some(k) if k >= 1.0 => Ok(Some(k as usize)),
        Some(k) => Err(format!("{name}: k is {k}, expected 1 or more")),
        None => Ok(None),
    }
}
