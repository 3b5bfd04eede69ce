//! The last entry of a log that is empty or cut, and that nothing proves to have been acknowledged.
//!
//! Builds before the first release gave an entry its name before its bytes were on the disk. Readers skip such an entry
//! ([`proofs`](super::proofs) says when). The next writer puts an entry in its place that changes nothing; what was
//! there stays beside it under a name that no listing shows. That is safe because a name that is taken is never
//! given again: whoever else finds it puts the same in its place, and all go on after it.

use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::json;
use tsql_folders::{check_below, read_regular};

use super::Log;
use super::commit_info::fault;
use crate::Location;
use crate::log_files::entries::{entry_name, entry_path};
use tsql_error::{Error, Result};

/// The suffix of files that are set aside; a random number follows.
const ASIDE: &str = ".cut#";

impl Log {
    /// Puts another entry in the place of that of a version, if it is the last one, cut, and was never acknowledged;
    /// what was done, in words.
    pub async fn pass_over(&self, version: u64) -> Result<Option<String>> {
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
        if !is_cut || self.skipped(&self.survey().await?).await? != Some(version) {
            return Ok(None);
        }
        self.replace_entry(version).await?;
        Ok(Some(format!(
            "`{path}` was cut off before its commit was acknowledged: replaced by an entry that changes nothing"
        )))
    }

    /// Puts an entry that changes nothing in the place of that of a version. One that is there stays beside it under a
    /// name that no listing shows.
    pub(super) async fn replace_entry(&self, version: u64) -> Result<()> {
        self.put_aside(&entry_name(version))?;
        let entry = match version {
            0 => self.first_entry().await?,
            _ => passed_over(),
        };
        let objects = self.log_store.object_store(None);
        let put = objects.put(&Path::from(entry_path(version)), entry).await;
        put.map_err(Error::Storage)?;
        Ok(())
    }

    /// Gives a file of the log another name that no listing shows, as well as its own.
    pub(super) fn put_aside(&self, name: &str) -> Result<()> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let file = store.join(self.path_of(name));
        check_below(store, &file).map_err(Error::io(&file))?;
        match std::fs::hard_link(&file, aside(&file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&file)(error))
            }
            _ => Ok(()),
        }
    }

    /// The names of pipes and devices among the files of the log. No listing of the store shows them.
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

    /// Gives a file of the log another name that no listing shows.
    pub(super) fn move_aside(&self, name: &str) -> Result<()> {
        if let Some(store) = &self.store {
            let file = store.join(self.path_of(name));
            check_below(store, &file).map_err(Error::io(&file))?;
            std::fs::rename(&file, aside(&file)).map_err(Error::io(&file))?;
        }
        Ok(())
    }

    /// The entry that makes the table.
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

/// Another name of a file, which no listing shows.
fn aside(file: &std::path::Path) -> std::path::PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!("{ASIDE}{}", fastrand::u64(..)));
    name.into()
}

/// An entry that changes nothing.
fn passed_over() -> PutPayload {
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
    async fn a_last_entry_that_is_cut_off_is_told_and_passed_over() {
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
                let store = store.telling(move |text| tell.lock().unwrap().push(text.to_owned()));
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
        // One that others rely on is damage.
        let _ = std::fs::remove_dir_all(&at);
        with_versions(at.to_str().unwrap(), 3).await;
        std::fs::write(log.join(format!("{:020}.json", 2)), "{\"x").unwrap();
        let store = Store::open(at.to_str().unwrap()).await.unwrap();
        assert!(store.snapshot("graphs").await.is_err());
    }
}
