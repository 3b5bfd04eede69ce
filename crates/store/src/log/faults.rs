//! Damaged files of a log: finding them, and reading the newest version without them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use deltalake_core::DeltaTable;
use deltalake_core::logstore::LogStoreRef;
use futures::{FutureExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt as _};

use super::commit_info::{Fault, fault};
use super::confirmed::said;
use super::damage::{described, error, plain};
use super::proofs::Proofs;
use super::{Log, Snapshot, failure};
use crate::log_files::entries::{
    FOLDER, LAST_CHECKPOINT, checkpoint_name, checkpoint_version, entry_name, entry_version,
};
use tsql_error::{Error, Result};

/// Versions that are loaded one by one to find the entry whose files are others than it states.
const COMPARED: u64 = 64;

/// The files of a log, as they were listed.
pub(super) struct Survey {
    pub(super) folder: Path,
    /// Sorted by name.
    pub(super) files: Vec<ObjectMeta>,
    pub(super) entries: BTreeMap<u64, ObjectMeta>,
    pub(super) checkpoints: BTreeMap<u64, ObjectMeta>,
    pub(super) hint: Hint,
}

/// What `_last_checkpoint` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// There is none.
    Missing,
    /// It names a checkpoint in one file.
    Version(u64),
    /// It names one in several files, as other programs write them.
    Parts,
    /// It is not what was written.
    Damaged,
}

impl Hint {
    fn of(text: &[u8]) -> Self {
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
    /// The newest version that there is a file of.
    pub(super) fn newest(&self) -> Option<u64> {
        let entry = self.entries.keys().next_back().copied();
        entry.max(self.checkpoints.keys().next_back().copied())
    }

    /// The version of the newest checkpoint.
    pub(super) fn checkpoint(&self) -> Option<u64> {
        self.checkpoints.keys().next_back().copied()
    }

    /// The files without these entries and checkpoints.
    pub(super) fn without(&self, entries: &[u64], checkpoints: &[u64]) -> Vec<ObjectMeta> {
        let is_left = |file: &&ObjectMeta| {
            let name = file.location.filename().unwrap_or_default();
            let among = |versions: &[u64], version: Option<u64>| {
                version.is_some_and(|version| versions.contains(&version))
            };
            !among(entries, entry_version(name)) && !among(checkpoints, checkpoint_version(name))
        };
        self.files.iter().filter(is_left).cloned().collect()
    }

    /// The versions between the first and the last entry that there is no entry of.
    pub(super) fn gaps(&self) -> Vec<u64> {
        let (Some(first), Some(last)) = (self.entries.keys().next(), self.newest()) else {
            return Vec::new();
        };
        // Without a checkpoint a log begins at version 0.
        let first = match self.checkpoint() {
            None => 0,
            Some(checkpoint) => checkpoint.min(*first),
        };
        let is_missing = |version: &u64| {
            !self.entries.contains_key(version) && Some(*version) != self.checkpoint()
        };
        (first..=last).filter(is_missing).collect()
    }
}

impl Log {
    /// Path of a file of the log, relative to the store.
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
            Some(hint) => Hint::of(&self.read(hint).await?),
            None => Hint::Missing,
        };
        Ok(Survey {
            entries: numbered(entry_version),
            checkpoints: numbered(checkpoint_version),
            folder,
            files,
            hint,
        })
    }

    /// The bytes of a file of the log.
    pub(super) async fn read(&self, file: &ObjectMeta) -> Result<Bytes> {
        let root = self.log_store.root_object_store(None);
        let found = root.get(&file.location).await.map_err(Error::Storage)?;
        found.bytes().await.map_err(Error::Storage)
    }

    /// The log as if its folder had these files alone.
    pub(super) fn view(&self, survey: &Survey, files: Vec<ObjectMeta>) -> Result<LogStoreRef> {
        self.with_files(&survey.folder, files, HashMap::new())
    }

    /// A version, the newest one unless it is named; `confirms`: only if its files are those that its last commit
    /// states. Readers of checkpoints panic on some bytes.
    pub(super) async fn load(
        &self,
        log_store: LogStoreRef,
        version: Option<u64>,
        confirms: bool,
    ) -> Result<Snapshot> {
        let load = async {
            let mut table = DeltaTable::new(log_store);
            let loaded = match version {
                Some(version) => table.load_version(version).await,
                None => table.load().await,
            };
            loaded.map_err(|error| failure(self.table, error))?;
            if confirms {
                return self.loaded(&table).await;
            }
            let state = table.snapshot();
            let state = state.map_err(|error| failure(self.table, error))?;
            Snapshot::new(self.clone(), state.clone())
        };
        let load = std::panic::AssertUnwindSafe(load).catch_unwind().await;
        load.unwrap_or_else(|_| Err(Error::damaged(&self.table.name, "its log cannot be read")))
    }

    /// The newest version where reading it failed: without a last entry that was never acknowledged, and without
    /// checkpoints where there are the entries that they stand for.
    ///
    /// # Errors
    /// The damaged file, where one is found, or why reading failed.
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
        let cut: Vec<u64> = self.skipped(&survey).await?.into_iter().collect();
        if cut == [newest] && survey.entries.len() == 1 && survey.checkpoints.is_empty() {
            return Ok(None);
        }
        let mut passed = Vec::new();
        let mut checkpoints = survey.checkpoints.keys().rev();
        loop {
            if !cut.is_empty() || !passed.is_empty() || survey.hint != Hint::Missing {
                let files = survey.without(&cut, &passed);
                let view = self.view(&survey, files)?;
                if let Ok(snapshot) = self.load(view, None, true).await
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
        Err(self.diagnosed(&survey, base).await?.unwrap_or(error))
    }

    /// The last entry, if it is cut and nothing proves that it was acknowledged.
    pub(super) async fn skipped(&self, survey: &Survey) -> Result<Option<u64>> {
        let Some((&version, entry)) = survey.entries.iter().next_back() else {
            return Ok(None);
        };
        let is_followed = survey.checkpoint() >= Some(version)
            || matches!(survey.hint, Hint::Version(hint) if hint >= version);
        let Some(store) = self.store.as_ref().filter(|_| !is_followed) else {
            return Ok(None);
        };
        let fault = fault(&self.table.name, version, &self.read(entry).await?);
        if !fault.is_some_and(|fault| fault.is_cut) {
            return Ok(None);
        }
        let proofs = Proofs::of_newest(store);
        let proof = proofs.get(&self.table.name);
        let is_proven = proof.is_some_and(|proof| proof.version >= version);
        Ok((!is_proven).then_some(version))
    }

    /// The error of a damaged file of this log, whatever version needs it, in the place of another error.
    pub async fn explain(&self, error: Error) -> Error {
        let is_of_log = matches!(error, Error::Log { .. } | Error::Damaged { .. });
        let found = async || self.diagnosed(&self.survey().await?, 0).await;
        match is_of_log {
            true => found().await.ok().flatten().unwrap_or(error),
            false => error,
        }
    }

    /// The error that names the first damaged file from a version on.
    async fn diagnosed(&self, survey: &Survey, base: u64) -> Result<Option<Error>> {
        let table = &self.table.name;
        let faulty = self.faulty_entries(survey, base).await?;
        if let Some((version, what)) = faulty.first() {
            let path = self.path_of(&entry_name(*version));
            return Ok(Some(error(table, &described(&path, what))));
        }
        if let Hint::Version(version) = survey.hint
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

    /// The entries from a version on that do not read well.
    pub(super) async fn faulty_entries(
        &self,
        survey: &Survey,
        from: u64,
    ) -> Result<Vec<(u64, Fault)>> {
        let mut found = Vec::new();
        for (version, entry) in survey.entries.range(from..) {
            let bytes = match self.read(entry).await {
                // It was cleaned up since.
                Err(Error::Storage(object_store::Error::NotFound { .. })) => continue,
                bytes => bytes?,
            };
            let fault = fault(&self.table.name, *version, &bytes);
            found.extend(fault.map(|fault| (*version, fault)));
        }
        Ok(found)
    }

    /// The first file from the newest checkpoint on whose version does not consist of the files that it states: its
    /// name, and what is wrong.
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
            match self.load(view, Some(version), false).await {
                Err(Error::TooNew { .. }) => return Ok(None),
                Err(error) => return Ok(Some((name, plain(&self.table.name, &error)))),
                Ok(snapshot) => {
                    if let Some(entry) = survey.entries.get(&version)
                        && let Some(stated) = self.stated(version, entry).await?
                        && stated != snapshot.of_files.to_string()
                    {
                        let what = "the files of the table are not what was written";
                        return Ok(Some((name, what.to_owned())));
                    }
                }
            }
        }
        Ok(None)
    }

    /// What an entry states of all files of its table.
    pub(super) async fn stated(&self, version: u64, entry: &ObjectMeta) -> Result<Option<String>> {
        Ok(said(&self.read(entry).await?, version))
    }

    /// A checkpoint is readable, and has the files that the entry of its version states.
    pub(super) async fn is_sound_checkpoint(&self, survey: &Survey, version: u64) -> Result<bool> {
        let others = survey.checkpoints.keys().copied();
        let others: Vec<u64> = others.filter(|other| *other != version).collect();
        let entries: Vec<u64> = survey
            .entries
            .range(..version)
            .map(|(one, _)| *one)
            .collect();
        let files = survey.without(&entries, &others);
        let view = self.view(survey, files)?;
        let Ok(snapshot) = self.load(view, Some(version), false).await else {
            return Ok(false);
        };
        let stated = match survey.entries.get(&version) {
            Some(entry) => self.stated(version, entry).await?,
            None => None,
        };
        Ok(stated.is_none_or(|stated| stated == snapshot.of_files.to_string()))
    }
}
