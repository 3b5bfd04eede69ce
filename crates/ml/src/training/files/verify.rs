//! Verifies training files: checksums, and whether an export would be the same.

use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_store::atomic_output::hash_file;
use tsql_store::{At, Location, Store};

use super::manifest::{MANIFEST, ManifestPart, TrainingManifest};
use crate::training::write_training_files;

/// Result of a verification of training files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrainingFilesVerified {
    /// Number of compared files.
    pub file_count: u64,
    /// Number of rows that were exported again.
    pub rows: u64,
    /// Differences, one sentence each.
    pub differences: Vec<String>,
}

impl TrainingFilesVerified {
    /// Adds the differences between a manifest and a new export.
    pub(crate) fn add_rebuilt(&mut self, known: &TrainingManifest, made: Result<TrainingManifest>) {
        match made {
            Err(error) => {
                let reason = format!("the files cannot be exported again: {error}");
                self.differences.push(reason);
            }
            Ok(made) => {
                self.rows = made.parts.iter().map(|part| part.rows).sum();
                self.differences.extend(known.differences(&made));
            }
        }
    }

    /// Returns true if nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares training files with their manifest. Then exports them again into a temporary folder, from the
/// table versions of the manifest, and compares both. `manifest` is the path of the manifest or of its
/// folder.
///
/// # Errors
/// [`Error::Source`] if there is no manifest, or one of another kind; [`Error::Unsupported`] for a manifest
/// of a newer tsql; failures of the storage. A failed export is a difference, not an error.
pub async fn verify_training_files(store: &Store, manifest: &str) -> Result<TrainingFilesVerified> {
    let (location, known) = read_manifest(manifest).await?;
    let Some(options) = &known.rows else {
        return Err(Error::Source {
            location: manifest.to_owned(),
            reason: "it is a manifest of graphs, expected a manifest of rows".to_owned(),
        });
    };
    let mut verified = verify_checksums(&location, &known).await?;
    let scratch = Scratch::new()?;
    let again = scratch.path().join("again").to_string_lossy().into_owned();
    let made = match known.at.parse::<At>() {
        Ok(at) => match store.at(&at).await {
            Ok(store) => write_training_files(&store, &again, options).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    verified.add_rebuilt(&known, made);
    Ok(verified)
}

/// Reads a manifest by its path or that of its folder; returns the location of its files, too.
pub(crate) async fn read_manifest(path: &str) -> Result<(Location, TrainingManifest)> {
    let folder = path.strip_suffix(MANIFEST).unwrap_or(path);
    let folder = if folder.is_empty() { "." } else { folder };
    let wrong = |reason: String| Error::Source {
        location: path.to_owned(),
        reason,
    };
    let location = Location::open(folder).await?;
    let Some(text) = location.read(MANIFEST).await? else {
        let reason = format!("it has no {MANIFEST}\nhint: `tsql export training` writes one");
        return Err(wrong(reason));
    };
    let manifest: TrainingManifest = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("{MANIFEST}:{}: {error}", error.line())))?;
    if manifest.manifest_version > super::manifest::manifest_version() {
        let own = super::manifest::manifest_version();
        return Err(Error::Unsupported(format!(
            "{path} is a manifest of version {}, expected at most {own}\nhint: install a newer tsql",
            manifest.manifest_version
        )));
    }
    Ok((location, manifest))
}

/// Compares files with their checksums.
pub(crate) async fn verify_checksums(
    location: &Location,
    manifest: &TrainingManifest,
) -> Result<TrainingFilesVerified> {
    let mut verified = TrainingFilesVerified::default();
    for file in manifest.parts.iter().flat_map(|part| &part.files) {
        verified.file_count += 1;
        let path = &file.path;
        match hash_file(location, path, &|_| ()).await? {
            None => verified.differences.push(format!("{path} is missing")),
            Some((sha256, _)) if sha256 == file.sha256 => {}
            Some((_, bytes)) => {
                let reason = format!(
                    "{path} has changed: {bytes} bytes, expected {} bytes with another checksum",
                    file.bytes
                );
                verified.differences.push(reason);
            }
        }
    }
    Ok(verified)
}

impl TrainingManifest {
    /// Returns the differences to another manifest, one sentence each.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut told = Vec::new();
        let mut differ = |what: &str, then: &str, now: &str| {
            if then != now {
                told.push(format!("{what}: was {then}, is {now}"));
            }
        };
        differ("version of tsql", &self.tsql_version, &other.tsql_version);
        differ("versions of the tables", &self.at, &other.at);
        let digest = |manifest: &Self| {
            let split = manifest.split.as_ref();
            split.map_or_else(|| "none".to_owned(), |split| split.digest.clone())
        };
        differ("digest of the split", &digest(self), &digest(other));
        let features = |manifest: &Self| {
            let each = manifest.features.iter();
            let each = each.map(|one| format!("{} version {}", one.name, one.version));
            each.collect::<Vec<_>>().join(", ")
        };
        differ("features", &features(self), &features(other));
        if self.sql != other.sql {
            told.push("the SQL differs".to_owned());
        }
        if self.excluded != other.excluded {
            let text =
                |manifest: &Self| serde_json::to_string(&manifest.excluded).unwrap_or_default();
            told.push(format!("excluded: was {}, is {}", text(self), text(other)));
        }
        for part in &self.parts {
            match other.parts.iter().find(|one| one.name == part.name) {
                None => told.push(format!(
                    "{}: the part is missing in the new export",
                    part.name
                )),
                Some(now) => told.extend(part.differences(now)),
            }
        }
        let new = other.parts.iter();
        let new = new.filter(|part| self.parts.iter().all(|one| one.name != part.name));
        told.extend(new.map(|part| format!("{}: the part is new", part.name)));
        told
    }
}

impl ManifestPart {
    fn differences(&self, now: &Self) -> Vec<String> {
        let name = &self.name;
        let mut told = Vec::new();
        for (what, then, is) in [
            ("rows", self.rows, now.rows),
            ("groups", self.groups, now.groups),
            ("failed records", self.failed, now.failed),
        ] {
            if then != is {
                told.push(format!("{name}: {what} was {then}, is {is}"));
            }
        }
        if self.keys != now.keys {
            told.push(format!(
                "{name}: the rows differ: keys was {}, is {}",
                self.keys, now.keys
            ));
        }
        for file in &self.files {
            match now.files.iter().find(|one| one.path == file.path) {
                None => told.push(format!("{} is missing in the new export", file.path)),
                Some(again) if again.sha256 != file.sha256 => {
                    told.push(format!("{} has other bytes in the new export", file.path));
                }
                Some(_) => {}
            }
        }
        let new = now.files.iter();
        let new = new.filter(|file| self.files.iter().all(|one| one.path != file.path));
        told.extend(new.map(|file| format!("{} is only in the new export", file.path)));
        told
    }
}
