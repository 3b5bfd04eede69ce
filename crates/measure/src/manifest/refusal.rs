//! Why a configuration is refused.

/// Why a configuration cannot be built: TVM's error 1, and a record like any other failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `constraint: ...`, `launch_bounds: ...`, `size: ...`, `value: ...` or `config: ...`.
    pub message: String,
}

impl Refusal {
    /// One of this kind.
    pub(super) fn new(kind: &str, reason: impl std::fmt::Display) -> Self {
        Self {
            message: format!("{kind}: {reason}"),
        }
    }
}
