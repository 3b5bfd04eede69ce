//! Tolerance levels of failures.

use std::ops::RangeInclusive;

/// Assignment of errors to the level from which they are tolerated (`*_positive_tolerance_interpretation.py`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpretation {
    /// Wrong values from 1 on, everything else from 3 on.
    #[default]
    Default,
    /// Wrong values from 1, nan, infinity, type and shape mismatches from 2, other errors at run
    /// time from 3, failures to compile from 4 on; failures of the eager run or reference never.
    MismatchExtended,
}

impl Interpretation {
    /// Finds an interpretation by upstream's name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Default),
            "mismatch_extended" => Some(Self::MismatchExtended),
            _ => None,
        }
    }

    /// Levels for which upstream computes scores.
    pub fn levels(self) -> RangeInclusive<i32> {
        match self {
            Self::Default => -10..=4,
            Self::MismatchExtended => -10..=5,
        }
    }

    /// Level from which on a single sample's failure is tolerated; `None` for never.
    pub(super) fn tolerated_from(self, fail_type: &str) -> Option<i32> {
        match (self, fail_type) {
            (Self::MismatchExtended, "eager_fail" | "reference_fail") => None,
            _ => Some(self.failure(fail_type).tolerated_from),
        }
    }

    /// Kind of a failure in the aggregated form. Upstream searches for substrings, and in both interpretations a
    /// failure of the eager run is a runtime error.
    pub(super) fn failure(self, fail_type: &str) -> FailureKind {
        let text = fail_type.to_lowercase();
        let mismatch = ["nan", "inf", "type_mismatch", "shape_mismatch"];
        let kind = |name, tolerated_from| FailureKind {
            name,
            tolerated_from,
        };
        if text.contains("accuracy") {
            return kind("accuracy", 1);
        }
        match self {
            Self::Default if text.contains("compile_fail") => kind("compile_fail", 3),
            Self::Default => kind("runtime_fail", 3),
            _ if mismatch.iter().any(|part| text.contains(part)) => kind("type/shape_mismatch", 2),
            _ if text.contains("compile_fail") => kind("compile_fail", 4),
            _ => kind("runtime_fail", 3),
        }
    }
}

/// A kind of error in the aggregated form.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailureKind {
    pub(super) name: &'static str,
    pub(super) tolerated_from: i32,
}

/// Kinds in the order of upstream's numbers.
pub(super) const FAILURES: [&str; 4] = [
    "accuracy",
    "type/shape_mismatch",
    "runtime_fail",
    "compile_fail",
];
