//! Damaged log files: detection, and reading of the newest version without them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use deltalake_core::DeltaTable;
use deltalake_core::logstore::LogStoreRef;
use futures::{FutureExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt as _};

use super::commit_info::{Fault, fault};
use super::damage::{describe_fault, error, plain_message};
use super::proofs::Proofs;
use super::verify_files::stated_checksum;
use super::{Log, Snapshot, log_error};
use crate::log_files::entries::{
    FOLDER, LAST_CHECKPOINT, checkpoint_name, checkpoint_version, entry_name, entry_version,
};
use tsql_error::{Error, Result};

/// Maximum number of versions that are loaded one by one to find the entry that does not match its checksum.
const COMPARED: u64 = 64;

/// Listing of the files of a log.
pub(super) struct Survey {
    pub(super) folder: Path,
    /// Sorted by name.
    pub(super) files: Vec<ObjectMeta>,
    pub(super) entries: BTreeMap<u64, ObjectMeta>,
    pub(super) checkpoints: BTreeMap<u64, ObjectMeta>,
    /// Checkpoints under the name of another version, with their own version if an entry states it. They are in neither
    /// `files` nor `checkpoints`.
    pub(super) misplaced: BTreeMap<u64, Option<u64>>,
    pub(super) hint: CheckpointHint,
}

/// Content of `_last_checkpoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckpointHint {
    /// The file does not exist.
    Missing,
    /// It names a checkpoint in one file.
    Version(u64),
    /// It names a checkpoint in several files, as other programs write them.
    Parts,
    /// It is damaged.
    Damaged,
}

impl CheckpointHint {
    fn parse(text: &[u8]) -> Self {
        let Ok(hint) = serde_json::from_slice::<serde_json::Value>(text) else {
            return Self::Damaged;
        };
        let has = |name: &&str| hint.get(name).is_some_and(|value| !value.is_null());
        if ["parts", "v2Checkpoint"].iter().any(has) {
            return Self::Parts;
        }
        let version = hint.get("version").and_then(serde_json::Value::as_u64);
        version.map_or(Self::Damaged, Self::Version)
    }
}

impl Survey {
    /// Returns the newest version that has a file.
    pub(super) fn newest(&self) -> Option<u64> {
        let entry = self.entries.keys().next_back().copied();
        entry.max(self.checkpoints.keys().next_back().copied())
    }

    /// Returns the version of the newest checkpoint.
    pub(super) fn checkpoint(&self) -> Option<u64> {
        self.checkpoints.keys().next_back().copied()
    }

    /// Returns the files without these entries and checkpoints.
    pub(super) fn excluding(&self, entries: &[u64], checkpoints: &[u64]) -> Vec<ObjectMeta> {
        let is_left = |file: &&ObjectMeta| {
            let name = file.location.filename().unwrap_or_default();
            let among = |versions: &[u64], version: Option<u64>| {
                version.is_some_and(|version| versions.contains(&version))
            };
            !among(entries, entry_version(name)) && !among(checkpoints, checkpoint_version(name))
        };
        self.files.iter().filter(is_left).cloned().collect()
    }

    /// Returns the versions without an entry between the first and the newest version. A checkpoint replaces the entry
    /// of its version for readers, but writers need that of the newest version.
    pub(super) fn gaps(&self) -> Vec<u64> {
        let (Some(first), Some(last)) = (self.entries.keys().next(), self.newest()) else {
            return Vec::new();
        };
        // Without a checkpoint, a log begins at version 0.
        let first = match self.checkpoint() {
            None => 0,
            Some(checkpoint) => checkpoint.min(*first),
        };
        let is_missing = |version: &u64| {
            let is_replaced = Some(*version) == self.checkpoint() && *version != last;
            !self.entries.contains_key(version) && !is_replaced
        };
        (first..=last).filter(is_missing).collect()
    }
}

impl Log {
    /// Returns the path of a log file, relative to the store.
    pub(super) fn path_of(&self, name: &str) -> String {
        format!("{}/{FOLDER}/{name}", self.table.name)
    }

    /// Lists the log.
    pub(super) async fn survey(&self) -> Result<Survey> {
        let url = self.log_store.config().location();
        let table = Path::from_url_path(url.path());
        let table = table.map_err(|error| Error::damaged(&self.table.name, error.to_string()))?;
        let folder = table.join(FOLDER);
        let root = self.log_store.root_object_store(None);
        let listed = root.list(Some(&folder)).try_collect().await;
        let mut files: Vec<ObjectMeta> = listed.map_err(Error::Storage)?;
        files.retain(|file| file.location.parts_count() == folder.parts_count() + 1);
        files.sort_unstable_by(|one, other| one.location.cmp(&other.location));
        let numbered = |number: fn(&str) -> Option<u64>| {
            let files = files.iter();
            let numbered = files.filter_map(|file| {
                let version = number(file.location.filename()?)?;
                Some((version, file.clone()))
            });
            numbered.collect()
        };
        let hint = files
            .iter()
            .find(|file| file.location.filename() == Some(LAST_CHECKPOINT));
        let hint = match hint {
            Some(hint) => CheckpointHint::parse(&self.read(hint).await?),
            None => CheckpointHint::Missing,
        };
        let mut survey = Survey {
            entries: numbered(entry_version),
            checkpoints: numbered(checkpoint_version),
            misplaced: BTreeMap::new(),
            folder,
            files,
            hint,
        };
        self.find_misplaced(&mut survey).await?;
        Ok(survey)
    }

    /// Reads a log file.
    pub(super) async fn read(&self, file: &ObjectMeta) -> Result<Bytes> {
        let root = self.log_store.root_object_store(None);
        let found = root.get(&file.location).await.map_err(Error::Storage)?;
        found.bytes().await.map_err(Error::Storage)
    }

    /// Returns the log as if its folder had only these files.
    pub(super) fn view(&self, survey: &Survey, files: Vec<ObjectMeta>) -> Result<LogStoreRef> {
        self.with_files(&survey.folder, files, HashMap::new())
    }

    /// Loads a version, by default the newest one, without verification of its files. Checkpoint readers panic on some
    /// bytes, which is caught here.
    pub(super) async fn load(
        &self,
        log_store: LogStoreRef,
        version: Option<u64>,
    ) -> Result<Snapshot> {
        let load = async {
            let mut table = DeltaTable::new(log_store);
            let loaded = match version {
                Some(version) => table.load_version(version).await,
                None => table.load().await,
            };
            loaded.map_err(|error| log_error(self.table, error))?;
            let state = table.snapshot();
            let state = state.map_err(|error| log_error(self.table, error))?;
            Snapshot::new(self.clone(), state.clone())
        };
        let load = std::panic::AssertUnwindSafe(load).catch_unwind().await;
        load.unwrap_or_else(|_| Err(Error::damaged(&self.table.name, "its log cannot be read")))
    }

    /// Loads the newest version, and verifies the checksum of its files.
    async fn load_verified(&self, log_store: LogStoreRef) -> Result<Snapshot> {
        let snapshot = self.load(log_store.clone(), None).await?;
        snapshot.verify_files(&log_store).await
    }

    /// Loads the newest version after an error: without a truncated, unacknowledged last entry, and without checkpoints
    /// if the entries before them exist.
    ///
    /// # Errors
    /// The damaged file if one is found, otherwise `error`.
    pub(super) async fn without_damage(&self, error: Error) -> Result<Option<Snapshot>> {
        let is_of_log = matches!(
            &error,
            Error::Storage(object_store::Error::NotFound { .. })
                | Error::Log { .. }
                | Error::Damaged { .. }
        );
        if !is_of_log {
            return Err(error);
        }
        let survey = self.survey().await?;
        let Some(newest) = survey.newest() else {
            return Err(error);
        };
        let cut: Vec<u64> = self
            .unacknowledged_entry(&survey)
            .await?
            .into_iter()
            .collect();
        if cut == [newest] && survey.entries.len() == 1 && survey.checkpoints.is_empty() {
            return Ok(None);
        }
        let mut passed = Vec::new();
        let mut checkpoints = survey.checkpoints.keys().rev();
        loop {
            let is_other = !cut.is_empty() || !passed.is_empty() || !survey.misplaced.is_empty();
            if is_other || survey.hint != CheckpointHint::Missing {
                let files = survey.excluding(&cut, &passed);
                let view = self.view(&survey, files)?;
                if let Ok(snapshot) = self.load_verified(view).await
                    && snapshot.version() >= newest.saturating_sub(cut.len() as u64)
                {
                    return Ok(Some(snapshot));
                }
            }
            match checkpoints.next() {
                Some(checkpoint) => passed.push(*checkpoint),
                None => break,
            }
        }
        let base = survey.checkpoint().unwrap_or(0);
        Err(self.find_damage(&survey, base).await?.unwrap_or(error))
    }

    /// Returns the last entry if it is truncated and nothing proves that it was acknowledged.
    pub(super) async fn unacknowledged_entry(&self, survey: &Survey) -> Result<Option<u64>> {
        let Some((&version, entry)) = survey.entries.iter().next_back() else {
            return Ok(None);
        };
        let is_followed = survey.checkpoint() >= Some(version)
            || matches!(survey.hint, CheckpointHint::Version(hint) if hint >= version);
        let Some(store) = self.store.as_ref().filter(|_| !is_followed) else {
            return Ok(None);
        };
        let fault = fault(&self.table.name, version, &self.read(entry).await?);
        if !fault.is_some_and(|fault| fault.is_cut) {
            return Ok(None);
        }
        let proofs = Proofs::from_newest_entries(store);
        let proof = proofs.get(&self.table.name);
        let is_proven = proof.is_some_and(|proof| proof.version >= version);
        Ok((!is_proven).then_some(version))
    }

    /// Replaces an error by that of a damaged file of this log, if there is one in any version.
    pub async fn explain(&self, error: Error) -> Error {
        let is_of_log = matches!(error, Error::Log { .. } | Error::Damaged { .. });
        let found = async || self.find_damage(&self.survey().await?, 0).await;
        match is_of_log {
            true => found().await.ok().flatten().unwrap_or(error),
            false => error,
        }
    }

    /// Returns an error that names the first damaged file from a version on.
    async fn find_damage(&self, survey: &Survey, base: u64) -> Result<Option<Error>> {
        let table = &self.table.name;
        if let Some(version) = survey.misplaced.keys().next() {
            return Ok(Some(error(table, &self.describe_misplaced(*version))));
        }
        let faulty = self.faulty_entries(survey, base).await?;
        if let Some((version, what)) = faulty.first() {
            let path = self.path_of(&entry_name(*version));
            return Ok(Some(error(table, &describe_fault(&path, what))));
        }
        if let CheckpointHint::Version(version) = survey.hint
            && !survey.checkpoints.contains_key(&version)
        {
            let path = self.path_of(&checkpoint_name(version));
            return Ok(Some(error(table, &format!("`{path}` is missing"))));
        }
        let gaps = survey.gaps();
        if let Some(missing) = gaps.into_iter().find(|version| *version >= base) {
            let path = self.path_of(&entry_name(missing));
            return Ok(Some(error(table, &format!("`{path}` is missing"))));
        }
        if let Some((name, what)) = self.unsound_version(survey).await? {
            let path = self.path_of(&name);
            let what = format!("{what}: `{path}` is damaged");
            return Ok(Some(error(table, &what)));
        }
        Ok(None)
    }

    /// Returns the invalid entries from a version on.
    pub(super) async fn faulty_entries(
        &self,
        survey: &Survey,
        from: u64,
    ) -> Result<Vec<(u64, Fault)>> {
        let mut found = Vec::new();
        for (version, entry) in survey.entries.range(from..) {
            let bytes = match self.read(entry).await {
                // It was cleaned up meanwhile.
                Err(Error::Storage(object_store::Error::NotFound { .. })) => continue,
                bytes => bytes?,
            };
            let fault = fault(&self.table.name, *version, &bytes);
            found.extend(fault.map(|fault| (*version, fault)));
        }
        Ok(found)
    }

    /// Returns the first file from the newest checkpoint on whose version does not match its checksum: its name, and
    /// the damage.
    async fn unsound_version(&self, survey: &Survey) -> Result<Option<(String, String)>> {
        let Some(newest) = survey.newest() else {
            return Ok(None);
        };
        let base = survey.checkpoint();
        for version in base.unwrap_or(0)..=newest.min(base.unwrap_or(0) + COMPARED) {
            let name = match base {
                Some(checkpoint) if checkpoint == version => checkpoint_name(version),
                _ => entry_name(version),
            };
            let view = self.view(survey, survey.files.clone())?;
            match self.load(view, Some(version)).await {
                Err(Error::TooNew { .. }) => return Ok(None),
                Err(error) => return Ok(Some((name, plain_message(&self.table.name, &error)))),
                Ok(snapshot) => {
                    if let Some(entry) = survey.entries.get(&version)
                        && let Some(stated) = self.stated_checksum(version, entry).await?
                        && stated != snapshot.of_files.to_string()
                    {
                        let what = "the files of the table are not as written";
                        return Ok(Some((name, what.to_owned())));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the checksum of all files that an entry states.
    pub(super) async fn stated_checksum(
        &self,
        version: u64,
        entry: &ObjectMeta,
    ) -> Result<Option<String>> {
        Ok(stated_checksum(&self.read(entry).await?, version))
    }

    /// Returns whether a checkpoint is readable and matches the checksum in the entry of its version.
    pub(super) async fn is_sound_checkpoint(&self, survey: &Survey, version: u64) -> Result<bool> {
        let others = survey.checkpoints.keys().copied();
        let others: Vec<u64> = others.filter(|other| *other != version).collect();
        let entries: Vec<u64> = survey
            .entries
            .range(..version)
            .map(|(one, _)| *one)
            .collect();
        let files = survey.excluding(&entries, &others);
        let view = self.view(survey, files)?;
        let Ok(snapshot) = self.load(view, Some(version)).await else {
            return Ok(false);
        };
        let stated = match survey.entries.get(&version) {
            Some(entry) => self.stated_checksum(version, entry).await?,
            None => None,
        };
        Ok(stated.is_none_or(|stated| stated == snapshot.of_files.to_string()))
    }
}
