//! Proofs of commits other than their own entry.
//!
//! A writer gives an entry its name after the bytes are on the disk, and acknowledges it after that. Proofs that the
//! entry of version V of a table existed:
//!
//! 1. its log: a later entry, a checkpoint of V or later, or `_last_checkpoint` naming one;
//! 2. another table: an entry there states that its writer had read version V (`tsqlSeen`). Each commit of an ingest
//!    states this of those before it, so the ingest log proves all tables that it refers to;
//! 3. a tag that names V (`check` only);
//! 4. the entry itself: an existing entry that is empty or truncated was complete once, unless a build before the first
//!    release wrote it. A data file that no entry lists shows that the commit was not empty.
//!
//! An entry that 1 or 2 prove is reported as damage if it is invalid. A truncated last entry that neither proves is
//! skipped by readers and replaced by the next writer; `check` reports it as damage if 4 holds. A log that ends early,
//! without a proof of a later version, is an earlier version.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use tsql_folders::read_regular;

use super::commit_info::CommitInfo;
use crate::log_files::entries::{FOLDER, LAST_CHECKPOINT, entry_name, entry_path, entry_version};
use tsql_schema as schema;

/// Number of entries of each log that are read for versions of other tables.
const NEWEST: u64 = 2;

/// Number of entries after a checkpoint that are looked up by name before the folder is listed.
const FOLLOWED: u64 = 64;

/// A version of a table that something outside of its log proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    pub version: u64,
    /// Source of the proof, for display.
    pub by: String,
}

/// Newest proven version of each table.
#[derive(Clone, Debug, Default)]
pub struct Proofs(BTreeMap<String, Proof>);

impl Proofs {
    /// Collects the versions that the newest entries of all tables in this folder state. Reads a few small files per
    /// table.
    pub fn from_newest_entries(store: &FilePath) -> Self {
        let mut proofs = Self::default();
        for table in schema::tables().into_iter().flatten() {
            let folder = store.join(&table.name).join(FOLDER);
            let Some(newest) = newest_entry(&folder) else {
                continue;
            };
            for version in newest.saturating_sub(NEWEST - 1)..=newest {
                if let Ok(bytes) = read_regular(&folder.join(entry_name(version))) {
                    proofs.add_entry(&table.name, version, &bytes);
                }
            }
        }
        proofs
    }

    /// Adds the versions that an entry states. A damaged entry proves nothing.
    pub fn add_entry(&mut self, table: &str, version: u64, entry: &[u8]) {
        let Some(info) = CommitInfo::parse(entry) else {
            return;
        };
        if info.fault(table, version).is_some() {
            return;
        }
        for (other, seen) in info.seen {
            let by = || format!("`{table}/{}`", entry_path(version));
            if other != table {
                self.add(&other, seen, by);
            }
        }
    }

    /// Adds a version of a table with its source.
    pub fn add(&mut self, table: &str, version: u64, by: impl FnOnce() -> String) {
        let known = self.0.get(table);
        if known.is_none_or(|known| known.version < version) {
            let by = by();
            self.0.insert(table.to_owned(), Proof { version, by });
        }
    }

    /// Returns the newest proven version of a table.
    pub fn get(&self, table: &str) -> Option<&Proof> {
        self.0.get(table)
    }
}

/// Returns the sums of record and other line counts that the newest commit of the ingest log states.
pub(crate) fn stated_counts(store: &FilePath, ingest_log: &str) -> Option<(u64, u64)> {
    let folder = store.join(ingest_log).join(FOLDER);
    let version = newest_entry(&folder)?;
    let entry = read_regular(&folder.join(entry_name(version))).ok()?;
    let info = CommitInfo::parse(&entry)?;
    info.counts
        .filter(|_| info.fault(ingest_log, version).is_none())
}

/// Returns the newest version with an entry. Entries after the last checkpoint are looked up by name.
fn newest_entry(folder: &FilePath) -> Option<u64> {
    let is_there = |version: u64| folder.join(entry_name(version)).exists();
    let first = last_checkpoint(folder).unwrap_or(0);
    if is_there(first) {
        let missing = (first + 1..=first + FOLLOWED).find(|version| !is_there(*version));
        let is_end = |missing: &u64| !is_there(missing + 1) && !is_there(missing + 2);
        if let Some(missing) = missing.filter(is_end) {
            return missing.checked_sub(1);
        }
    }
    let names = std::fs::read_dir(folder).ok()?.flatten();
    let versions = names.filter_map(|entry| entry_version(entry.file_name().to_str()?));
    versions.max()
}

/// Returns the version that `_last_checkpoint` names.
fn last_checkpoint(folder: &FilePath) -> Option<u64> {
    parse_last_checkpoint(&read_regular(&folder.join(LAST_CHECKPOINT)).ok()?)
}

/// Parses the version in a `_last_checkpoint`.
fn parse_last_checkpoint(text: &[u8]) -> Option<u64> {
    let hint: serde_json::Value = serde_json::from_slice(text).ok()?;
    hint.get("version")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entry_is_found_with_and_without_a_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let write = |name: String, text: &str| std::fs::write(folder.join(name), text).unwrap();
        assert_eq!(newest_entry(folder), None);
        for version in 0..5 {
            write(entry_name(version), "x");
        }
        assert_eq!(newest_entry(folder), Some(4));
        write(entry_name(90), "x");
        write(LAST_CHECKPOINT.to_owned(), r#"{"version":90,"size":3}"#);
        assert_eq!(newest_entry(folder), Some(90));
        write(LAST_CHECKPOINT.to_owned(), r#"{"version":80,"size":3}"#);
        assert_eq!(newest_entry(folder), Some(90));
        write(LAST_CHECKPOINT.to_owned(), "{");
        write(entry_name(6), "x");
        assert_eq!(newest_entry(folder), Some(90));
    }
}
