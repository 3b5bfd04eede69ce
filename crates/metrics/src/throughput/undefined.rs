//! Why a group has no score.

use std::fmt::{self, Display, Formatter};

/// Why a group has no score: whatever number stood there would say nothing of the predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undefined {
    /// There is no row with a label and a prediction.
    NoRows,
    /// There is one row: every predictor ranks it right.
    OneRow,
    /// All labels are equal: every predictor ranks them right.
    OneLabel,
    /// A prediction is NaN or infinite.
    Prediction,
    /// A label is NaN or infinite, or none is above 0: so are those of a task whose best runtime is 0.
    Label,
    /// All rows have failed.
    AllFailed,
}

impl Display for Undefined {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        to.write_str(match self {
            Self::NoRows => "no row has a prediction",
            Self::OneRow => "one row",
            Self::OneLabel => "all labels are equal",
            Self::Prediction => "a prediction is NaN or infinite",
            Self::Label => "a label is NaN or infinite, or none is above 0",
            Self::AllFailed => "all rows failed",
        })
    }
}
