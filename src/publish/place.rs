//! Where a publication goes: a folder or a bucket, which nothing else may be in.
//!
//! While it is written, a mark says so and there is no list of checksums; the list comes last. So what was broken off is
//! never taken for a publication, and can be begun again.

use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use sha2::{Digest as _, Sha256};

use super::manifest::{self, Entry};
use crate::error::{Error, Result};
use crate::store::Location;

/// The dataset card.
pub(super) const CARD: &str = "README.md";

/// The metadata.
pub(super) const CROISSANT: &str = "croissant.json";

/// Says that a publication is being written; it goes when that is done.
const MARK: &str = ".tsql-publishing";

/// A file that was written.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    pub(super) sha256: String,
}

/// A place that a publication is written to.
pub(super) struct Target {
    location: Location,
    /// What tells this run from others.
    run: String,
    /// Files of an earlier publication.
    before: Vec<String>,
}

impl Target {
    /// Looks at the place; writes nothing yet.
    ///
    /// # Errors
    /// [`Error::CannotCreate`] where something else is there, or a publication that is not to be replaced.
    pub(super) async fn open(to: &str, overwrite: bool) -> Result<Self> {
        let location = Location::open(to).await?;
        let taken = |reason: String| Error::CannotCreate {
            location: to.to_owned(),
            reason,
        };
        if to == "memory:" {
            let reason = "ends with this process\nhint: a directory, or s3://BUCKET/PREFIX";
            return Err(taken(reason.to_owned()));
        }
        if let Some(directory) = location.local_directory()
            && directory.is_file()
        {
            return Err(taken("is a file, expected a directory".to_owned()));
        }
        let before: Vec<String> = listed(&location)
            .await?
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        let run = uuid::Uuid::new_v4().simple().to_string();
        if !before.is_empty() {
            let broken_off = location.read(MARK).await?.is_some();
            let own = match location.read(manifest::NAME).await? {
                _ if broken_off => None,
                Some(text) => manifest::parse(&text).ok(),
                None => return Err(taken(foreign(&before[..]))),
            };
            let is_own = |path: &String| match &own {
                Some(own) => path == manifest::NAME || own.iter().any(|entry| &entry.path == path),
                None => broken_off && is_published(path),
            };
            let others: Vec<String> = before
                .iter()
                .filter(|path| !is_own(path))
                .cloned()
                .collect();
            if !others.is_empty() {
                return Err(taken(foreign(&others)));
            }
            if !broken_off && !overwrite {
                let reason = "has a publication already\nhint: --overwrite replaces it";
                return Err(taken(reason.to_owned()));
            }
        }
        Ok(Self {
            location,
            run,
            before,
        })
    }

    /// The last part of its path.
    pub(super) fn name(&self) -> String {
        let directory = self.location.local_directory();
        let name = directory.and_then(|directory| directory.file_name());
        let url = || {
            self.location
                .as_str()
                .trim_end_matches('/')
                .rsplit('/')
                .next()
        };
        name.map_or_else(
            || url().unwrap_or_default().to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// From now on nothing here is a publication.
    ///
    /// # Errors
    /// [`Error::Storage`] where it cannot be written to.
    pub(super) async fn begin(&self) -> Result<()> {
        let mark = format!(
            "{}\ntsql is publishing here, or was broken off: run it again\n",
            self.run
        );
        self.location
            .write(&Path::from(MARK), mark.into_bytes())
            .await?;
        self.delete(manifest::NAME).await
    }

    /// Writes a file of `rows` rows.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(super) async fn write(&self, path: String, bytes: Vec<u8>, rows: u64) -> Result<Written> {
        let sha256 = manifest::hex(&Sha256::digest(&bytes));
        let size = bytes.len() as u64;
        self.location
            .write(&Path::from(path.as_str()), bytes)
            .await?;
        Ok(Written {
            path,
            bytes: size,
            rows,
            sha256,
        })
    }

    /// Takes away what an earlier publication had and this one has not, and writes the list of checksums; its size.
    ///
    /// # Errors
    /// [`Error::CannotCreate`] where another run has begun meanwhile; [`Error::Storage`].
    pub(super) async fn finish(&self, files: &[Written]) -> Result<u64> {
        for path in &self.before {
            if path != manifest::NAME && !files.iter().any(|file| &file.path == path) {
                self.delete(path).await?;
            }
        }
        let mark = self.location.read(MARK).await?;
        if !mark.is_some_and(|mark| mark.starts_with(self.run.as_bytes())) {
            return Err(Error::CannotCreate {
                location: self.location.as_str().to_owned(),
                reason: "is written to by another `tsql publish`\nhint: run it again when that has ended".to_owned(),
            });
        }
        let entries = files.iter().map(|file| Entry {
            path: file.path.clone(),
            sha256: file.sha256.clone(),
        });
        let list = manifest::text(entries.collect()).into_bytes();
        let bytes = list.len() as u64;
        self.location
            .write(&Path::from(manifest::NAME), list)
            .await?;
        self.delete(MARK).await?;
        Ok(bytes)
    }

    async fn delete(&self, path: &str) -> Result<()> {
        match self.location.objects().delete(&Path::from(path)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::Storage(error)),
        }
    }
}

/// Was a publication begun here and not ended?
pub(super) async fn is_broken_off(location: &Location) -> Result<bool> {
    Ok(location.read(MARK).await?.is_some())
}

/// All files and their sizes, by path, but those that are hidden (`.git`, `.gitattributes`).
pub(super) async fn listed(location: &Location) -> Result<Vec<(String, u64)>> {
    let objects: Vec<_> = location
        .objects()
        .list(None)
        .try_collect()
        .await
        .map_err(Error::Storage)?;
    let paths = objects
        .into_iter()
        .map(|object| (object.location.to_string(), object.size));
    let mut paths: Vec<(String, u64)> = paths
        .filter(|(path, _)| !path.split('/').any(|part| part.starts_with('.')))
        .collect();
    paths.sort();
    Ok(paths)
}

/// Is it named as the files of publications are?
fn is_published(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let number = name
        .strip_prefix("part-")
        .and_then(|name| name.strip_suffix(".parquet"));
    [CARD, CROISSANT, manifest::NAME].contains(&path)
        || number
            .is_some_and(|number| number.len() >= 5 && number.chars().all(|c| c.is_ascii_digit()))
}

fn foreign(files: &[String]) -> String {
    let more = files.len().saturating_sub(3);
    let some: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let some = some.join(", ");
    format!(
        "has files that are no publication of tsql: {some}{more}\nhint: an empty directory, or one that is not there yet"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_told() {
        assert!(is_published("records/tenset/k80/part-00000.parquet"));
        assert!(is_published("README.md"));
        for other in [
            "thesis.tex",
            "records/README.md",
            "part-x.parquet",
            "a/part-1.parquet",
        ] {
            assert!(!is_published(other), "{other}");
        }
    }
}
