//! What a check found, and what a repair did or would do.

use serde::Serialize;

/// What `check` looked at and found.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// Data files that were read whole.
    pub files: u64,
    /// Bytes of these.
    pub file_bytes: u64,
    /// Those of them that have no checksums, as older versions wrote them: damage of their bytes may go
    /// unnoticed.
    pub without_checksums: u64,
    /// References between tables that were followed.
    pub references: u64,
    /// Hashes that were computed again.
    pub hashes: u64,
    /// Sources that were rebuilt.
    pub sources: u64,
    /// Bytes of these.
    pub source_bytes: u64,
    /// Damage: table and description. Empty for a sound store.
    pub damage: Vec<(String, String)>,
    /// What [`Store::repair`](crate::Store::repair) would put right; not all of it is damage.
    pub mendable: Vec<Mendable>,
}

impl Checked {
    /// Nothing is wrong with the store.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && !self.mendable.iter().any(|found| found.is_damage)
    }
}

/// Something that [`Store::repair`](crate::Store::repair) can put right, or has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mendable {
    /// What it is, in the plural.
    pub found: &'static str,
    /// How many there are.
    pub count: u64,
    /// What the repair does to them: a sentence that begins with its verb.
    pub does: &'static str,
    /// The store does not keep its promises as long as that is so.
    pub is_damage: bool,
    /// Commands that complete it.
    pub then: Vec<String>,
    /// What is lost for good, in words.
    pub lost: Vec<String>,
}
