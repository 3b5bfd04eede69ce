//! Folders, as far as their files belong together.

/// A folder with files that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Its own name.
    pub name: String,
    /// XXH3-128 of its path: two folders of one name are two.
    pub hash: String,
}
