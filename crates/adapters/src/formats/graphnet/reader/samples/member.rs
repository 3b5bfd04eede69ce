//! A file of a sample.

/// A file with its content.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Name in the store.
    pub(super) name: String,
    /// Path for display.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    /// Bytes that are not yet reported as progress.
    pub(super) untold: u64,
    pub(super) source_folder: Option<String>,
}
