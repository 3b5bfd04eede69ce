//! A file of a sample.

/// A file's text on its way in.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its name in the store.
    pub(super) name: String,
    /// How it is named to people.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    /// How many of these are still to be told to whoever looks at progress.
    pub(super) untold: u64,
    pub(super) source_folder: Option<String>,
}
