//! A finding about a name.

/// What is wrong with a name, and a hint.
pub(super) struct Finding {
    pub(super) message: String,
    pub(super) name: String,
    pub(super) hint: Option<String>,
}
