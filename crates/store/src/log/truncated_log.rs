//! Handling of a last log entry that is empty or truncated, and not proven to be acknowledged.
//!
//! Builds before the first release gave an entry its name before its bytes were on the disk. Readers skip such an entry
//! (see [`proofs`](super::proofs)). The next writer replaces it by an empty entry; the original stays beside it under
//! an unlisted name. That is safe because a name is never reused: every other writer that finds it makes the same
//! replacement, and all continue after it.

use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::json;
use tsql_folders::{check_below, read_regular};

use super::Log;
use super::commit_info::fault;
use crate::Location;
use crate::log_files::entries::{entry_name, entry_path};
use tsql_error::{Error, Result};

/// Suffix of files that are moved aside, before a random number.
const ASIDE: &str = ".cut#";

impl Log {
    /// Replaces the entry of a version by an empty one, if it is the last one, truncated, and was never acknowledged.
    /// Returns a description of the change.
    pub async fn replace_truncated_entry(&self, version: u64) -> Result<Option<String>> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let path = self.path_of(&entry_name(version));
        let file = store.join(&path);
        let bytes = match read_regular(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(Error::io(&file))?,
        };
        let is_cut = fault(&self.table.name, version, &bytes).is_some_and(|fault| fault.is_cut);
        if !is_cut || self.unacknowledged_entry(&self.survey().await?).await? != Some(version) {
            return Ok(None);
        }
        self.replace_entry(version).await?;
        Ok(Some(format!(
            "`{path}` was cut off before its commit was acknowledged: replaced by an entry that changes nothing"
        )))
    }

    /// Replaces the entry of a version by an empty one. An existing entry stays beside it under an unlisted name.
    pub(super) async fn replace_entry(&self, version: u64) -> Result<()> {
        self.put_aside(&entry_name(version))?;
        let entry = match version {
            0 => self.first_entry().await?,
            _ => empty_entry(),
        };
        let objects = self.log_store.object_store(None);
        let put = objects.put(&Path::from(entry_path(version)), entry).await;
        put.map_err(Error::Storage)?;
        Ok(())
    }

    /// Links a log file to an additional, unlisted name.
    pub(super) fn put_aside(&self, name: &str) -> Result<()> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let file = store.join(self.path_of(name));
        check_below(store, &file).map_err(Error::io(&file))?;
        match std::fs::hard_link(&file, aside_path(&file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&file)(error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the names of pipes and devices among the log files. Listings of the store do not include them.
    pub(super) fn irregular_files(&self) -> Result<Vec<String>> {
        let Some(store) = &self.store else {
            return Ok(Vec::new());
        };
        let folder = store.join(self.path_of(""));
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io(&folder))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io(&folder))?;
            let kind = entry.file_type().map_err(Error::io(&folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_regular = kind.is_file() || kind.is_dir() || kind.is_symlink();
            if !is_regular && !name.contains(ASIDE) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Renames a log file to an unlisted name.
    pub(super) fn move_aside(&self, name: &str) -> Result<()> {
        if let Some(store) = &self.store {
            let file = store.join(self.path_of(name));
            check_below(store, &file).map_err(Error::io(&file))?;
            std::fs::rename(&file, aside_path(&file)).map_err(Error::io(&file))?;
        }
        Ok(())
    }

    /// Reads the entry that creates the table.
    async fn first_entry(&self) -> Result<PutPayload> {
        let elsewhere = Location::open("memory:").await?;
        Self::new(&elsewhere, self.table)?
            .snapshot_or_create()
            .await?;
        let path = format!("{}/{}", self.table.name, entry_path(0));
        let entry = elsewhere.objects().get(&Path::from(path)).await;
        let bytes = entry.map_err(Error::Storage)?.bytes().await;
        bytes.map(PutPayload::from).map_err(Error::Storage)
    }
}

/// Returns an unlisted name for a file.
fn aside_path(file: &std::path::Path) -> std::path::PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!("{ASIDE}{}", fastrand::u64(..)));
    name.into()
}

/// Returns an entry without changes.
fn empty_entry() -> PutPayload {
    let detail = "repair: an entry that was not acknowledged, or is lost";
    let now = chrono::Utc::now().timestamp_millis();
    let info = json!({"commitInfo": {"timestamp": now, "operation": "PASS OVER", "tsql": detail}});
    info.to_string().into()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crate::{Change, Snapshot, Store};

    /// Versions of an empty table.
    async fn with_versions(at: &str, count: usize) {
        let store = Store::open_or_create(at).await.unwrap();
        for version in 0..count {
            let change = Change {
                transactions: vec![(format!("a{version}"), 1)],
                ..Change::default()
            };
            let plan = async |_: &Snapshot| Ok(Some(change.clone()));
            store.commit("graphs", "test", plan).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_truncated_last_entry_is_reported_and_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("s");
        let log = at.join("graphs/_delta_log");
        let begun = format!("{{\"x\": \"{}", "y".repeat(300)).into_bytes();
        for version in [0_usize, 1, 2] {
            let name = format!("{version:020}.json");
            for kept in [0, 1, 40, 200] {
                let _ = std::fs::remove_dir_all(&at);
                with_versions(at.to_str().unwrap(), version).await;
                let whole = std::fs::read(log.join(&name)).unwrap_or_else(|_| begun.clone());
                std::fs::create_dir_all(&log).unwrap();
                std::fs::write(log.join(&name), &whole[..kept]).unwrap();
                let told: Arc<Mutex<Vec<String>>> = Arc::default();
                let tell = Arc::clone(&told);
                let store = Store::open(at.to_str().unwrap()).await.unwrap();
                let store =
                    store.with_reporter(move |text| tell.lock().unwrap().push(text.to_owned()));
                let plan = async |_: &Snapshot| Ok(Some(Change::default()));
                store.commit("graphs", "test", plan).await.unwrap();
                let newest = store.snapshot("graphs").await.unwrap().unwrap().version();
                assert_eq!(newest, version as u64 + 1, "{version} {kept}");
                let told = std::mem::take(&mut *told.lock().unwrap());
                assert!(told.len() <= 1, "{told:?}");
                assert!(kept == 0 || told[0].contains(&name), "{version} {kept}");
                let aside = std::fs::read_dir(&log).unwrap().flatten();
                let aside =
                    aside.filter(|entry| entry.file_name().to_string_lossy().contains("cut#"));
                assert_eq!(aside.count(), told.len(), "{version} {kept}");
                let again = Store::open(at.to_str().unwrap()).await.unwrap();
                let newest = again.snapshot("graphs").await.unwrap().unwrap().version();
                assert_eq!(newest, version as u64 + 1, "{version} {kept}");
            }
        }
        // An entry that others rely on is damage.
        let _ = std::fs::remove_dir_all(&at);
        with_versions(at.to_str().unwrap(), 3).await;
        std::fs::write(log.join(format!("{:020}.json", 2)), "{\"x").unwrap();
        let store = Store::open(at.to_str().unwrap()).await.unwrap();
        assert!(store.snapshot("graphs").await.is_err());
    }
}
