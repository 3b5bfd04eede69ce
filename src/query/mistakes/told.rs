//! What is told of a name.

/// What is wrong with a name, and what may have been meant.
pub(super) struct Told {
    pub(super) message: String,
    pub(super) name: String,
    pub(super) hint: Option<String>,
}
