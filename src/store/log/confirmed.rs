//! A version is what its last commit says that it is.

use memchr::memmem;
use serde_json::Value;

use super::sealed::{FILES, damaged};
use super::{Log, Snapshot, failure};
use crate::error::Result;
use crate::store::verify::Verify;

impl Snapshot {
    /// This snapshot, if its files are those that its last commit says.
    pub(super) async fn confirmed(self) -> Result<Self> {
        let Log { table, log_store } = &self.log;
        if Verify::of_environment()? == Verify::Never {
            return Ok(self);
        }
        // A commit that changes no files need not speak of them: `vacuum` makes such ones.
        for version in (0..=self.version()).rev() {
            let entry = log_store.read_commit_entry(version).await;
            // Of older versions only checkpoints may be left.
            let Some(entry) = entry.map_err(|error| failure(table, error))? else {
                break;
            };
            let said = said(&entry);
            let is_other = |said: &String| *said != self.of_files.to_string();
            if entry.trim_ascii().is_empty() || said.as_ref().is_some_and(is_other) {
                return Err(damaged(table, "the files of the table are"));
            }
            if said.is_some() || changes_files(&entry) {
                break;
            }
        }
        Ok(self)
    }
}

/// Does a commit add or remove files?
fn changes_files(entry: &[u8]) -> bool {
    let has = |action: &str| memmem::find(entry, action.as_bytes()).is_some();
    has("\"add\":") || has("\"remove\":")
}

/// What a commit says of the files of its table.
fn said(entry: &[u8]) -> Option<String> {
    let line = entry.split(|&byte| byte == b'\n');
    let mut infos = line.filter(|line| memmem::find(line, FILES.as_bytes()).is_some());
    let info: Value = serde_json::from_slice(infos.next()?).ok()?;
    Some(info.get("commitInfo")?.get(FILES)?.as_str()?.to_owned())
}
