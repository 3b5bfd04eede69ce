//! The last entry of a log that a power cut has left empty or cut off.
//!
//! Builds before the first release gave an entry its name before its bytes were on the disk. Nobody was
//! told then that it is there. It is passed over: an entry takes its place that changes nothing, and what was
//! there stays beside it under a name that no listing shows. That is safe because a name that is taken is never
//! given again: whoever else finds it puts the same in its place, and all go on after it. An entry that is
//! followed by others was relied on, and stays what it is: damage.

use std::path::Path as FilePath;

use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::json;

use super::Log;
use crate::error::{Error, Result};
use crate::store::Location;
use crate::store::entries::{FOLDER, entry_path};

impl Log {
    /// Puts another entry in the place of the last one, if that is no entry; what was done, in words.
    pub(crate) async fn pass_over(&self, location: &Location) -> Result<Option<String>> {
        let Some(store) = location.local_directory() else {
            return Ok(None);
        };
        let Some(version) = last(&store.join(&self.table.name).join(FOLDER)) else {
            return Ok(None);
        };
        let path = format!("{}/{}", self.table.name, entry_path(version));
        let file = store.join(&path);
        let bytes = std::fs::read(&file).map_err(Error::io(&file))?;
        if !is_cut(&bytes) {
            return Ok(None);
        }
        let mut aside = file.clone().into_os_string();
        aside.push(format!(".cut#{}", fastrand::u64(..)));
        std::fs::hard_link(&file, &aside).map_err(Error::io(&file))?;
        let entry = match version {
            0 => self.first_entry().await?,
            _ => passed_over(),
        };
        let object = Path::from(path.as_str());
        let put = location.objects().put(&object, entry).await;
        put.map_err(Error::Storage)?;
        Ok(Some(format!(
            "{path} was cut off, as a power cut does: passed over, nothing of it was acknowledged"
        )))
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

/// The last version of which there is an entry.
fn last(folder: &FilePath) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let versions = entries.filter_map(|entry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_suffix(".json")?;
        number.parse().ok()
    });
    versions.max()
}

/// Ends it early? So it is empty, goes on with zeros, or its last line stops within an object. What is wrong
/// in another way was whole once, and may have been acknowledged: that is damage.
fn is_cut(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_end();
    if matches!(text.last(), None | Some(0)) {
        return true;
    }
    let mut lines = text.rsplit(|&byte| byte == b'\n');
    let parsed = |line: &[u8]| serde_json::from_slice::<serde_json::Map<_, _>>(line);
    let last = lines.next().map(parsed);
    let stops = matches!(last, Some(Err(error)) if error.is_eof());
    stops && text.last() != Some(&b'}') && lines.all(|line| parsed(line).is_ok())
}

/// An entry that changes nothing.
fn passed_over() -> PutPayload {
    let detail = "an entry that was cut off";
    let now = chrono::Utc::now().timestamp_millis();
    let info = json!({"commitInfo": {"timestamp": now, "operation": "PASS OVER", "tsql": detail}});
    info.to_string().into()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crate::store::{Change, Snapshot, Store};

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

    #[test]
    fn what_is_damaged_is_not_cut() {
        let entry = br#"{"commitInfo":{"timestamp":1}}
{"add":{"path":"a{b","size":12}}"#;
        for end in 0..entry.len() {
            let whole = entry[..end].ends_with(b"}") || entry[..end].ends_with(b"}\n");
            assert_eq!(super::is_cut(&entry[..end]), !whole, "{end}");
        }
        assert!(super::is_cut(&[&entry[..40], &[0; 20]].concat()));
        for place in 0..entry.len() - 1 {
            for bit in 0..8 {
                let mut flipped = entry.to_vec();
                flipped[place] ^= 1 << bit;
                assert!(!super::is_cut(&flipped), "{place} {bit}");
            }
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
