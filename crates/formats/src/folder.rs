//! Folders whose files belong together.

/// Folder whose files belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Name of the folder.
    pub name: String,
    /// XXH3-128 of its path, which distinguishes folders of the same name.
    pub hash: String,
}
