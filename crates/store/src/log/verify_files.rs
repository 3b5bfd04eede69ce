//! Verification of a snapshot against the checksum in its last commit.

use deltalake_core::logstore::LogStoreRef;
use memchr::memmem;
use serde_json::Value;

use super::commit_info::CommitInfo;
use super::log_checksum::{FILES, damaged_log_error};
use super::{Snapshot, damage, log_error};
use crate::log_files::entries::entry_name;
use crate::settings::verify_settings::Verify;
use tsql_error::Result;

/// Field of a commit without file changes: the version whose files its checksum covers.
const FILES_OF: &str = "tsqlFilesOf";

/// Commits of a clean-up, and the number of its own commits since that version.
const UNCHANGING: [(&str, u64); 2] = [("VACUUM START", 1), ("VACUUM END", 2)];

impl Snapshot {
    /// Returns this snapshot if its files match the checksum in its last commit.
    pub(super) async fn verify_files(self, log_store: &LogStoreRef) -> Result<Self> {
        let table = self.log.table;
        if Verify::from_env()? == Verify::Never {
            return Ok(self);
        }
        // A commit without file changes may have no checksum.
        for version in (0..=self.version()).rev() {
            let entry = log_store.read_commit_entry(version).await;
            // Only the checkpoints of older versions may be left.
            let Some(entry) = entry.map_err(|error| log_error(table, error))? else {
                if version == self.version() {
                    self.log.reject_misplaced(version).await?;
                }
                break;
            };
            // Older entries affect results only through the files that they add and remove.
            if version == self.version()
                && let Some(info) = CommitInfo::parse(&entry)
                && let Some(what) = info.fault(&table.name, version)
            {
                let path = self.log.path_of(&entry_name(version));
                return Err(damage::error(&table.name, &format!("`{path}` {what}")));
            }
            let said = stated_checksum(&entry, version);
            let is_other = |said: &String| *said != self.of_files.to_string();
            if entry.trim_ascii().is_empty() || said.as_ref().is_some_and(is_other) {
                return Err(damaged_log_error(table, "the files of the table are"));
            }
            if said.is_some() || changes_files(&entry) {
                break;
            }
        }
        Ok(self)
    }
}

/// Returns whether a commit adds or removes files.
fn changes_files(entry: &[u8]) -> bool {
    let has = |action: &str| memmem::find(entry, action.as_bytes()).is_some();
    has("\"add\":") || has("\"remove\":")
}

/// Returns the checksum of all files that the commit of a version states. For a commit without file changes it is valid
/// only if nobody else has committed since the version that it refers to.
pub(super) fn stated_checksum(entry: &[u8], version: u64) -> Option<String> {
    let line = entry.split(|&byte| byte == b'\n');
    let mut infos = line.filter(|line| memmem::find(line, FILES.as_bytes()).is_some());
    let info: Value = serde_json::from_slice(infos.next()?).ok()?;
    let info = info.get("commitInfo")?;
    if let Some(of) = info.get(FILES_OF) {
        let operation = info.get("operation")?.as_str()?;
        let (_, commits) = UNCHANGING.iter().find(|(name, _)| *name == operation)?;
        if of.as_u64()?.checked_add(*commits) != Some(version) {
            return None;
        }
    }
    Some(info.get(FILES)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::stated_checksum;

    #[test]
    fn a_clean_up_speaks_of_the_version_right_before_it() {
        let entry = |operation: &str| {
            format!(
                r#"{{"commitInfo":{{"operation":"{operation}","tsqlFiles":"2 ab","tsqlFilesOf":7}}}}"#
            )
        };
        let said = |operation: &str, version| stated_checksum(entry(operation).as_bytes(), version);
        let files = Some("2 ab".to_owned());
        assert_eq!(said("VACUUM START", 8), files);
        assert_eq!(said("VACUUM END", 9), files);
        // Another writer has committed in between.
        assert_eq!(said("VACUUM START", 9), None);
        assert_eq!(said("VACUUM END", 10), None);
        assert_eq!(said("WRITE", 8), None);
        let plain = br#"{"commitInfo":{"operation":"WRITE","tsqlFiles":"1 c"}}"#;
        assert_eq!(super::stated_checksum(plain, 3).as_deref(), Some("1 c"));
    }
}
