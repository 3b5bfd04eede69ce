//! A finding about a name.

/// Reason why a name is invalid, and a hint.
pub(super) struct Finding {
    pub(super) message: String,
    pub(super) name: String,
    pub(super) hint: Option<String>,
}
