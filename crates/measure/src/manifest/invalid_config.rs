//! Error of an invalid configuration.

/// Reason why a configuration cannot be built. It is TVM's error 1, and a record like any other failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidConfig {
    /// `constraint: ...`, `launch_bounds: ...`, `size: ...`, `value: ...` or `config: ...`.
    pub message: String,
}

impl InvalidConfig {
    /// Creates an error of this kind.
    pub(super) fn new(kind: &str, reason: impl std::fmt::Display) -> Self {
        Self {
            message: format!("{kind}: {reason}"),
        }
    }
}
