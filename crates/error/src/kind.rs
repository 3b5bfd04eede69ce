//! Stable names of error kinds, for programs.

use super::Error;

impl Error {
    /// Returns the kind of the error as a stable word: `sql`, `not_a_store`, `io`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotAStore { .. } => "not_a_store",
            Self::NoStore => "no_store",
            Self::Foreign { .. } => "foreign_store",
            Self::CannotCreate { .. } => "cannot_create",
            Self::TooNew { .. } => "too_new",
            Self::Unknown { .. } => "unknown_name",
            Self::Argument { .. } => "argument",
            Self::Ambiguous(_) => "ambiguous",
            Self::InvalidLocation(_) => "location",
            Self::Setting(_) => "setting",
            Self::Refused(_) | Self::Sql(_) => "sql",
            Self::NoVersion(_) => "no_version",
            Self::ReadOnly => "read_only",
            Self::Empty(_) => "empty",
            Self::Vacuumed { .. } | Self::Rewritten { .. } | Self::Contended { .. } => "conflict",
            Self::Closed => "closed",
            Self::Unsupported(_) => "unsupported",
            Self::Measuring(_) => "measuring",
            Self::Internal(_) => "internal",
            Self::Drawing(_) => "drawing",
            Self::Io { .. } => "io",
            Self::Rejected { .. } => "rejected_line",
            Self::Damaged { .. } => "damaged",
            Self::Storage(_) | Self::Log { .. } => "storage",
            Self::Query(_) => "query",
            Self::Interrupted => "interrupted",
            Self::Source { .. } => "source",
        }
    }
}
