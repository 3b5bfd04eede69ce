//! Reasons for a group without a score.

use std::fmt::{self, Display, Formatter};

/// Reason why a group has no score. Any number would be meaningless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undefined {
    /// No row has a label and a prediction.
    NoRows,
    /// There is one row, which every predictor ranks correctly.
    OneRow,
    /// All labels are equal, so that every predictor ranks them correctly.
    OneLabel,
    /// A prediction is NaN or infinite.
    Prediction,
    /// A label is NaN or infinite, or none is above 0, as for a task whose best runtime is 0.
    Label,
    /// All rows have failed.
    AllFailed,
}

impl Display for Undefined {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoRows => "no row has a prediction",
            Self::OneRow => "one row",
            Self::OneLabel => "all labels are equal",
            Self::Prediction => "a prediction is NaN or infinite",
            Self::Label => "a label is NaN or infinite, or none is above 0",
            Self::AllFailed => "all rows failed",
        })
    }
}
