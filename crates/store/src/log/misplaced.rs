//! Checkpoints that stand beyond the newest entry under the name of another version.
//!
//! A checkpoint does not state its version: a copy or a renamed one of an older version would be read as the newest
//! version, with fewer files. One without an entry of its version is compared with the newest version that has one.
//! Every file of that version is in a later one, or is listed there as removed, until its tombstone expires.

use std::collections::{BTreeMap, HashSet};

use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;

use super::faults::Survey;
use super::{Log, Snapshot, damage, log_error};
use crate::log_files::entries::{FOLDER, checkpoint_name, entry_name};
use tsql_error::{Error, Result};

impl Log {
    /// Moves the misplaced checkpoints of a listing to `misplaced`. A checkpoint that cannot be read is not moved.
    pub(super) async fn find_misplaced(&self, survey: &mut Survey) -> Result<()> {
        let Some(newest) = survey.entries.keys().next_back().copied() else {
            return Ok(());
        };
        let beyond = survey.checkpoints.range(newest + 1..);
        let beyond: Vec<u64> = beyond.map(|(version, _)| *version).collect();
        if beyond.is_empty() {
            return Ok(());
        }
        let view = self.view(survey, survey.excluding(&[], &beyond))?;
        let before = self.load(view, Some(newest)).await.ok();
        let stated = self.stated_checksums(survey).await?;
        for version in beyond {
            // It may have been written after the listing.
            if !self.is_missing(&entry_name(version)).await {
                continue;
            }
            let others = survey.checkpoints.keys().copied();
            let others: Vec<u64> = others.filter(|other| *other != version).collect();
            let entries: Vec<u64> = survey.entries.keys().copied().collect();
            let view = self.view(survey, survey.excluding(&entries, &others))?;
            let Ok(found) = self.load(view, Some(version)).await else {
                continue;
            };
            let own = stated.get(&found.of_files.to_string()).copied();
            let follows = match &before {
                Some(before) => found.lists_all_of(before).await?,
                None => true,
            };
            if own.is_some() || !follows {
                survey.misplaced.insert(version, own);
            }
        }
        let misplaced: Vec<u64> = survey.misplaced.keys().copied().collect();
        survey.files = survey.excluding(&[], &misplaced);
        survey
            .checkpoints
            .retain(|version, _| !misplaced.contains(version));
        Ok(())
    }

    /// Rejects a version whose checkpoint is misplaced.
    pub(super) async fn reject_misplaced(&self, version: u64) -> Result<()> {
        match self.survey().await?.misplaced.contains_key(&version) {
            true => Err(damage::error(
                &self.table.name,
                &self.describe_misplaced(version),
            )),
            false => Ok(()),
        }
    }

    /// Describes a misplaced checkpoint.
    pub(super) fn describe_misplaced(&self, version: u64) -> String {
        let path = self.path_of(&checkpoint_name(version));
        format!("`{path}` is a checkpoint of another version, under a wrong name")
    }

    /// Moves misplaced checkpoints aside. One that belongs to a version without a checkpoint gets its name.
    pub(super) async fn repair_misplaced(&self, survey: &Survey) -> Result<()> {
        for (version, own) in &survey.misplaced {
            if let Some(own) = own.filter(|own| !survey.checkpoints.contains_key(own)) {
                let objects = self.log_store.object_store(None);
                let path = |version| Path::from(format!("{FOLDER}/{}", checkpoint_name(version)));
                let copied = objects.copy(&path(*version), &path(own)).await;
                copied.map_err(Error::Storage)?;
            }
            self.remove(&checkpoint_name(*version)).await?;
        }
        Ok(())
    }

    /// Returns the newest version that states each checksum of files.
    async fn stated_checksums(&self, survey: &Survey) -> Result<BTreeMap<String, u64>> {
        let mut stated = BTreeMap::new();
        for (version, entry) in &survey.entries {
            if let Some(checksum) = self.stated_checksum(*version, entry).await? {
                stated.insert(checksum, *version);
            }
        }
        Ok(stated)
    }
}

impl Snapshot {
    /// Returns whether all files of an earlier version are in this one, or were removed since.
    async fn lists_all_of(&self, before: &Snapshot) -> Result<bool> {
        let removed = self.state.all_tombstones(&self.log.log_store).try_collect();
        let removed: Vec<_> = removed
            .await
            .map_err(|error| log_error(self.log.table, error))?;
        let removed = removed
            .iter()
            .filter_map(|file| Path::parse(file.path()).ok());
        let parsed = |snapshot: &Snapshot| {
            let files = snapshot.files.iter();
            let files = files.filter_map(|file| Path::parse(&file.path).ok());
            files.collect::<Vec<Path>>()
        };
        let listed: HashSet<Path> = parsed(self).into_iter().chain(removed).collect();
        Ok(parsed(before).iter().all(|file| listed.contains(file)))
    }
}
