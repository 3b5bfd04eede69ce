//! Results of a check, and of an actual or possible repair.

use serde::Serialize;

/// Result of a check.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Number of data files that were read completely.
    pub files: u64,
    /// Their size in bytes.
    pub file_bytes: u64,
    /// Data files without checksums, from older versions. Damage of their bytes may go unnoticed.
    pub without_checksums: u64,
    /// Number of references between tables that were checked.
    pub references: u64,
    /// Number of hashes that were recomputed.
    pub hashes: u64,
    /// Number of sources that were rebuilt.
    pub sources: u64,
    /// Their size in bytes.
    pub source_bytes: u64,
    /// Damage: table and description. Empty for a sound store.
    pub damage: Vec<(String, String)>,
    /// Items that [`repair`](crate::check::repair) would repair. Not all of them are damage.
    pub repairs: Vec<RepairItem>,
}

impl CheckReport {
    /// Returns whether the store has no damage.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && !self.repairs.iter().any(|found| found.is_damage)
    }
}

/// An item that [`repair`](crate::check::repair) can repair, or has repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairItem {
    /// Description, in the plural.
    pub description: &'static str,
    /// Number of cases.
    pub count: u64,
    /// Effect of the repair: a sentence that begins with its verb.
    pub effect: &'static str,
    /// Whether invariants of the store are violated.
    pub is_damage: bool,
    /// Commands that complete the repair.
    pub next_commands: Vec<String>,
    /// Descriptions of the data that is lost.
    pub lost: Vec<String>,
}
