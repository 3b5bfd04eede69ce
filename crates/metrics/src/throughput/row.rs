//! A row as these metrics see it, and the arguments that it comes from.

use super::undefined::Undefined;
use crate::metric::{Argument, Group, Kind};
use crate::ranking::agreement::nan_last;

pub(super) const LABEL: Argument = Argument::of_row(
    "label",
    Kind::Number,
    "what was measured, higher for a faster program: its throughput relative to the best",
);

pub(super) const PREDICTION: Argument = Argument::of_row(
    "prediction",
    Kind::Number,
    "what was predicted, higher for a faster program",
);

pub(super) const INDEX: Argument = Argument::of_row(
    "index",
    Kind::Whole,
    "place of the row, by which equal numbers are ordered as upstream does",
)
.optional();

pub(super) const K: Argument =
    Argument::of_group("k", Kind::Whole, "how many are chosen, 1 or more");

/// One program: its label, what was predicted, and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Throughput relative to the task's best, in 0 to 1.
    pub label: f64,
    /// What was predicted, higher for a faster program.
    pub prediction: f64,
    /// Its place among the rows; NaN where none is known.
    pub index: f64,
}

/// The rows that have a label and a prediction.
pub(super) fn rows(group: &Group) -> Vec<Row> {
    let (predictions, indices) = (group.numbers(PREDICTION.name), group.numbers(INDEX.name));
    let labels = group.numbers(LABEL.name).iter().enumerate();
    let row = |(place, label): (usize, &Option<f64>)| {
        Some(Row {
            label: (*label)?,
            prediction: predictions.get(place).copied().flatten()?,
            index: indices.get(place).copied().flatten().unwrap_or(f64::NAN),
        })
    };
    labels.filter_map(row).collect()
}

/// The number of rows, if there are some and all their numbers are finite.
pub(super) fn finite(rows: &[Row]) -> Result<f64, Undefined> {
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

/// The same, if they can be ranked: there are several, and not all labels are equal.
pub(super) fn rankable(rows: &[Row]) -> Result<f64, Undefined> {
    let count = finite(rows)?;
    let (first, others) = rows.split_first().ok_or(Undefined::NoRows)?;
    if others.is_empty() {
        return Err(Undefined::OneRow);
    }
    let is_as_first = |row: &Row| nan_last(row.label, first.label).is_eq();
    match others.iter().all(is_as_first) {
        true => Err(Undefined::OneLabel),
        false => Ok(count),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rows that are in memory")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

/// A k of 1 or more, or what is wrong with it; `None` where none is said.
pub(super) fn k_of(group: &Group, name: &str) -> Result<Option<usize>, String> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is at least 1, and a k that is too large takes all"
    )]
    match group.number(K.name) {
        Some(k) if k >= 1.0 => Ok(Some(k as usize)),
        Some(k) => Err(format!("{name}: k is {k}, it must be 1 or more")),
        None => Ok(None),
    }
}
