//! Number of records in the parts of a split.

use serde::Serialize;

/// Number of records in a part of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartCount {
    /// `train`, `valid` or `test`; `None` for rows in no part: rows without a key, and new graphs that would
    /// join two parts.
    pub part: Option<String>,
    /// Number of records.
    pub record_count: u64,
}
