//! Report of log damage for `check`, and its repair: damaged files are moved aside, and a new version is made from the
//! rest. A later comparison of the tables finds lost rows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use memchr::memmem;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use uuid::Uuid;

use super::commit_info::{CommitInfo, fault};
use super::damage::{describe_fault, describe_missing, plain_message};
use super::faults::{CheckpointHint, Survey};
use super::proofs::{Proof, Proofs};
use super::{Attempt, Change, CommitContext, Log, Snapshot};
use crate::Location;
use crate::log_files::entries::{FOLDER, LAST_CHECKPOINT, checkpoint_name, entry_name, entry_path};
use tsql_error::{Error, Result};

/// Maximum number of entries that replace lost ones.
const FILLED: u64 = 10_000;

/// Number of newest checkpoints that are compared with the entries.
const CHECKED: usize = 50;

/// Maximum number of versions that a table may be behind its proof. A larger difference means that the proof is
/// damaged.
const BEHIND: u64 = 10_000;

/// Damage of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// Description, beginning with the file.
    pub what: String,
    /// No data is lost: readers and writers work without the file.
    pub is_harmless: bool,
}

impl LogDamage {
    fn new(what: String) -> Self {
        Self {
            what,
            is_harmless: false,
        }
    }
}

impl Log {
    /// Adds the versions of other tables that all entries of this log state.
    pub async fn add_proofs(&self, proofs: &mut Proofs) -> Result<()> {
        for (version, entry) in &self.survey().await?.entries {
            if let Ok(bytes) = self.read(entry).await {
                proofs.add_entry(&self.table.name, *version, &bytes);
            }
        }
        Ok(())
    }

    /// Returns all damage of the log. `proof` is the newest version that others state.
    pub async fn damage(
        &self,
        location: &Location,
        proof: Option<&Proof>,
    ) -> Result<Vec<LogDamage>> {
        let survey = self.survey().await?;
        let irregular = self.irregular_files()?.into_iter();
        let irregular = irregular.map(|name| {
            let path = self.path_of(&name);
            LogDamage::new(format!("`{path}` is a pipe or a device"))
        });
        let mut found: Vec<LogDamage> = irregular.collect();
        let skipped = self.unacknowledged_entry(&survey).await?;
        for (version, fault) in self.faulty_entries(&survey, 0).await? {
            let what = describe_fault(&self.path_of(&entry_name(version)), &fault);
            if Some(version) != skipped {
                found.push(LogDamage::new(what));
                continue;
            }
            let unnamed = self.unnamed_files(location, &survey).await?;
            found.push(match unnamed.first() {
                Some(file) => {
                    let file = format!("{}/{file}", self.table.name);
                    LogDamage::new(format!("{what}, and no entry refers to `{file}`"))
                }
                None => LogDamage {
                    what: format!("{what}: its commit was never acknowledged"),
                    is_harmless: true,
                },
            });
        }
        for version in survey.gaps() {
            if self.is_missing(&entry_name(version)).await {
                let path = self.path_of(&entry_name(version));
                found.push(LogDamage::new(format!("`{path}` is missing")));
            }
        }
        for version in survey.misplaced.keys() {
            found.push(LogDamage::new(self.describe_misplaced(*version)));
        }
        for version in survey.checkpoints.keys().rev().take(CHECKED) {
            if !self.is_sound_checkpoint(&survey, *version).await? {
                let path = self.path_of(&checkpoint_name(*version));
                found.push(LogDamage::new(format!("`{path}` is damaged")));
            }
        }
        let hint = self.path_of(LAST_CHECKPOINT);
        match survey.hint {
            CheckpointHint::Damaged => found.push(LogDamage::new(format!("`{hint}` is damaged"))),
            CheckpointHint::Version(version)
                if self.is_missing(&checkpoint_name(version)).await =>
            {
                let path = self.path_of(&checkpoint_name(version));
                let what = format!("`{path}` is missing, but `{hint}` refers to it");
                found.push(LogDamage::new(what));
            }
            _ => {}
        }
        if let Some(proof) = proof.filter(|proof| survey.newest() < Some(proof.version)) {
            found.push(LogDamage::new(describe_missing(&self.table.name, proof)));
        }
        if found.is_empty()
            && let Err(error) = self.snapshot().await
        {
            let what = plain_message(&self.table.name, &error);
            found.push(LogDamage::new(what));
        }
        Ok(found)
    }

    /// Returns whether a log file is missing. It may have been written after the listing.
    pub(super) async fn is_missing(&self, name: &str) -> bool {
        let path = Path::from(format!("{FOLDER}/{name}"));
        let found = self.log_store.object_store(None).head(&path).await;
        matches!(found, Err(object_store::Error::NotFound { .. }))
    }

    /// Returns the data files that no entry lists: those of a lost or truncated entry, and of interrupted commits.
    pub async fn unlisted_files(&self, location: &Location) -> Result<Vec<String>> {
        self.unnamed_files(location, &self.survey().await?).await
    }

    /// Returns the data files that no entry of a listing names.
    async fn unnamed_files(&self, location: &Location, survey: &Survey) -> Result<Vec<String>> {
        let named = self.snapshot().await?;
        let named = named.iter().flat_map(|named| named.files().iter());
        let named: BTreeSet<&str> = named.map(|file| file.path.as_str()).collect();
        let files = self.data_files(location).await?.into_iter();
        let files = files.map(|file| file.location.to_string());
        let mut unnamed: Vec<String> = files
            .filter(|file| !named.contains(file.as_str()))
            .collect();
        for entry in survey.entries.values() {
            let bytes = self.read(entry).await?;
            unnamed.retain(|file| {
                let name = file.rsplit('/').next().unwrap_or(file.as_str());
                memmem::find(&bytes, name.as_bytes()).is_none()
            });
        }
        Ok(unnamed)
    }

    /// Moves damaged files aside and makes the newest version from the rest. Returns descriptions of the damage. A
    /// version that `proof` states may still be missing: call [`raise_to_proof`](Self::raise_to_proof) last.
    ///
    /// # Errors
    /// If nothing is left to make a version from, and failures of the storage.
    pub async fn repair(&self, location: &Location, proof: Option<&Proof>) -> Result<Vec<String>> {
        let damage = self.damage(location, proof).await?;
        if damage.is_empty() {
            return Ok(Vec::new());
        }
        for name in self.irregular_files()? {
            self.move_aside(&name)?;
        }
        self.repair_misplaced(&self.survey().await?).await?;
        let survey = self.survey().await?;
        let base = self.repair_checkpoints(&survey).await?;
        if let Some(newest) = survey.newest() {
            self.repair_entries(&survey, base, newest).await?;
        }
        let snapshot = match self.newest_unverified().await? {
            Some(snapshot) => snapshot,
            None => self.snapshot_or_create().await?,
        };
        if !self.matches_statement(&snapshot).await? {
            self.commit_empty_until(snapshot.version() + 1).await?;
        }
        Ok(damage.into_iter().map(|one| one.what).collect())
    }

    /// Commits empty changes until the table has the proven version, so it is not taken for an older one.
    pub async fn raise_to_proof(&self, proof: &Proof) -> Result<()> {
        let newest = self
            .newest_unverified()
            .await?
            .map_or(0, |newest| newest.version());
        if proof.version <= newest + BEHIND {
            self.commit_empty_until(proof.version).await?;
        }
        Ok(())
    }

    /// Commits empty changes up to a version.
    async fn commit_empty_until(&self, version: u64) -> Result<()> {
        let newest = async || {
            let newest = self.newest_unverified().await?;
            newest.ok_or_else(|| Error::damaged(&self.table.name, "vanished"))
        };
        let mut snapshot = newest().await?;
        while snapshot.version() < version {
            let name = Uuid::new_v4().simple().to_string();
            let about = CommitContext {
                detail: "repair: log",
                name: &name,
                seen: BTreeMap::new(),
                cleans_up: false,
            };
            snapshot = match snapshot.commit(&Change::default(), about).await {
                Attempt::Committed(next) => *next,
                Attempt::Conflict => newest().await?,
                Attempt::Unclear(error) => return Err(error),
            };
        }
        Ok(())
    }

    /// Deletes damaged checkpoints, and a `_last_checkpoint` that names a missing one. Returns the newest remaining
    /// checkpoint.
    async fn repair_checkpoints(&self, survey: &Survey) -> Result<Option<u64>> {
        let mut base = None;
        for version in survey.checkpoints.keys().rev().take(CHECKED) {
            if self.is_sound_checkpoint(survey, *version).await? {
                base = base.or(Some(*version));
            } else {
                self.remove(&checkpoint_name(*version)).await?;
            }
        }
        let is_named = match survey.hint {
            CheckpointHint::Missing | CheckpointHint::Parts => true,
            CheckpointHint::Damaged => false,
            CheckpointHint::Version(version) => base == Some(version),
        };
        if !is_named {
            self.remove(LAST_CHECKPOINT).await?;
        }
        Ok(base)
    }

    /// Repairs damaged entries: entries of another version are moved there, the others are replaced by empty ones.
    /// Entries before a checkpoint are removed, with all before them.
    async fn repair_entries(&self, survey: &Survey, base: Option<u64>, newest: u64) -> Result<()> {
        let faulty = self.faulty_entries(survey, 0).await?;
        let mut displaced: BTreeMap<u64, Bytes> = BTreeMap::new();
        for (version, _) in &faulty {
            let Some(entry) = survey.entries.get(version) else {
                continue;
            };
            let bytes = self.read(entry).await?;
            let version = CommitInfo::parse(&bytes).and_then(|info| info.version());
            if let Some(version) = version
                && fault(&self.table.name, version, &bytes).is_none()
            {
                displaced.insert(version, bytes);
            }
        }
        let mut broken: BTreeSet<u64> = faulty.iter().map(|(version, _)| *version).collect();
        broken.extend(survey.gaps());
        let first = base.unwrap_or(0);
        let old = broken.iter().rfind(|version| **version < first).copied();
        if let Some(old) = old {
            for version in survey.entries.range(..=old).map(|(version, _)| *version) {
                self.remove(&entry_name(version)).await?;
            }
            for version in survey
                .checkpoints
                .range(..=old)
                .map(|(version, _)| *version)
            {
                self.remove(&checkpoint_name(version)).await?;
            }
        }
        let is_needed =
            |version: &u64| !survey.entries.contains_key(version) && Some(*version) != base;
        let mut entries = survey.entries.range(first..).map(|(version, _)| *version);
        let begins = entries.next().unwrap_or(newest);
        if begins.saturating_sub(first) > FILLED {
            let what = format!(
                "the entries of versions {first} to {begins} are lost, and no checkpoint has them"
            );
            return Err(Error::damaged(&self.table.name, what));
        }
        broken.extend((first..=newest).filter(is_needed));
        for version in broken.range(first..) {
            match displaced.get(version) {
                Some(bytes) => {
                    self.put_aside(&entry_name(*version))?;
                    let objects = self.log_store.object_store(None);
                    let payload = PutPayload::from(bytes.clone());
                    let put = objects
                        .put(&Path::from(entry_path(*version)), payload)
                        .await;
                    put.map_err(Error::Storage)?;
                }
                None => self.replace_entry(*version).await?,
            }
        }
        Ok(())
    }

    /// Returns the newest version without verification of its files. Entries with unreadable file names are replaced.
    async fn newest_unverified(&self) -> Result<Option<Snapshot>> {
        loop {
            let survey = self.survey().await?;
            let Some(newest) = survey.newest() else {
                return Ok(None);
            };
            let view = self.view(&survey, survey.files.clone())?;
            let error = match self.load(view, None).await {
                Ok(snapshot) => return Ok(Some(snapshot)),
                Err(error @ (Error::TooNew { .. } | Error::Storage(_))) => return Err(error),
                Err(error) => error,
            };
            let text = error.to_string();
            let mut broken = None;
            for (version, entry) in survey.entries.iter().rev() {
                let bytes = self.read(entry).await?;
                let names = file_names(&bytes);
                if names.iter().any(|name| text.contains(name.as_str())) {
                    broken = Some(*version);
                    break;
                }
            }
            // Each iteration leaves one entry less with an unreadable name.
            let Some(version) = broken.filter(|version| *version <= newest) else {
                return Err(error);
            };
            self.replace_entry(version).await?;
        }
    }

    /// Returns whether the files of a version match its last entry, or the entry states nothing.
    async fn matches_statement(&self, snapshot: &Snapshot) -> Result<bool> {
        let confirmed = snapshot.clone().verify_files(&self.log_store).await;
        match confirmed {
            Ok(_) => Ok(true),
            Err(Error::Log { .. } | Error::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a file from the log. On a local disk it stays beside it under an unlisted name.
    pub(super) async fn remove(&self, name: &str) -> Result<()> {
        self.put_aside(name)?;
        let path = Path::from(format!("{FOLDER}/{name}"));
        match self.log_store.object_store(None).delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::Storage(error)),
        }
    }
}

/// Returns the names of the data files that an entry adds.
fn file_names(entry: &[u8]) -> Vec<String> {
    let lines = entry.split(|&byte| byte == b'\n');
    let adds = lines.filter_map(|line| {
        let action: serde_json::Value = serde_json::from_slice(line).ok()?;
        let path = action.get("add")?.get("path")?.as_str()?;
        Some(path.rsplit('/').next()?.to_owned())
    });
    adds.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests;
