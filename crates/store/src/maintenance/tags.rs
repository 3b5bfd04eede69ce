//! Tags: names for the state of all tables at one moment.
//!
//! A tag is a row with the version of each table. What it names stays: `vacuum` leaves the files of its versions, and
//! while there is a tag, writers do not clean up logs.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::TimestampMicrosecondType;
use datafusion::prelude::{col, lit};

use crate::files::file::{self, Effort};
use crate::snapshot::at::At;
use crate::{Change, Location, Log, Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema::{self as schema, column};

/// The table of tags.
const TAGS: &str = "tags";

/// Longest name of a tag, in bytes.
const LONGEST_NAME: usize = 100;

/// A name for the state of all tables at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// What its maker said of it.
    pub note: Option<String>,
    /// When it was made, in microseconds since 1970.
    pub created_at_us: i64,
    /// The versions of the tables; those that are not named had no rows.
    pub versions: BTreeMap<String, u64>,
}

/// The data files of a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Held {
    /// Its files.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that neither the newest versions nor another tag has: what goes with the tag.
    pub own_file_count: u64,
    /// Their size in bytes.
    pub own_bytes: u64,
}

impl Store {
    /// Gives the state of all tables a name: their newest versions, or those of the moment that this store is looked
    /// at. All of a tag belongs together: what its rows refer to is in it.
    ///
    /// # Errors
    /// [`Error::Argument`] where `name` is no name or taken, [`Error::NoVersion`] where `vacuum` has left
    /// too little of what is to be named, and failures of the storage.
    pub async fn create_tag(&self, name: &str, note: Option<&str>) -> Result<Tag> {
        if let Some(reason) = refused_name(name) {
            return Err(of_name(reason));
        }
        let table = schema::table(TAGS)?;
        let newest = self.as_it_is();
        let mut made = None;
        let detail = format!("tag {name}");
        newest
            .commit(TAGS, &detail, async |tags: &Snapshot| {
                if newest
                    .tags_of(tags)
                    .await?
                    .iter()
                    .any(|tag| tag.name == name)
                {
                    let hint =
                        "hint: `tsql tag list` shows all; another name, or `tsql tag delete` first";
                    return Err(of_name(format!("there is a tag `{name}` already\n{hint}")));
                }
                let tag = Tag {
                    name: name.to_owned(),
                    note: note.map(str::to_owned),
                    created_at_us: chrono::Utc::now().timestamp_micros(),
                    versions: self.versions().await?,
                };
                let batch = file::batch(table, columns(&tag))?;
                let written =
                    file::write(self.location(), table, &[], &[batch], Effort::Ingest).await?;
                made = Some(tag);
                Ok(Some(Change {
                    add: vec![written],
                    ..Change::default()
                }))
            })
            .await?;
        made.ok_or_else(|| Error::Internal("a tag without a row".to_owned()))
    }

    /// The versions of all tables that are shown, but of `tags`; all their files are there. With
    /// [`At::Versions`] the store is looked at as it is now, whatever comes.
    ///
    /// # Errors
    /// [`Error::NoVersion`] where `vacuum` has left too little of them, and failures of the storage.
    pub async fn versions(&self) -> Result<BTreeMap<String, u64>> {
        let mut versions = BTreeMap::new();
        let all = schema::tables()?.iter();
        let all: Vec<_> = all.filter(|table| table.name != TAGS).collect();
        for (name, snapshot) in self.snapshots_of(&all).await? {
            let table = schema::table(name)?;
            if self.at.is_some() {
                let there = Log::new(self.location(), table)?;
                let there = there.paths(self.location()).await?;
                let lost = snapshot
                    .files()
                    .iter()
                    .find(|file| !there.contains(&file.path));
                if let Some(lost) = lost {
                    let (name, version) = (&table.name, snapshot.version());
                    let reason =
                        format!("{name}@{version} has lost {} to `tsql vacuum`", lost.path);
                    return Err(Error::NoVersion(reason));
                }
            }
            versions.insert(table.name.clone(), snapshot.version());
        }
        Ok(versions)
    }

    /// The same store at the versions that all of its tables have now.
    ///
    /// # Errors
    /// As [`create_tag`](Self::create_tag).
    pub async fn pinned(&self) -> Result<Self> {
        self.at(&At::Versions(self.versions().await?)).await
    }

    /// All tags, by name.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn tags(&self) -> Result<Vec<Tag>> {
        match self.snapshot(TAGS).await? {
            Some(tags) => self.tags_of(&tags).await,
            None => Ok(Vec::new()),
        }
    }

    /// The tag of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub async fn tag(&self, name: &str) -> Result<Tag> {
        let tags = self.tags().await?;
        let known: Vec<&str> = tags.iter().map(|tag| tag.name.as_str()).collect();
        let known = match known.as_slice() {
            [] => "none yet; `tsql tag create` makes one. A time is like 2026-11-21T17:00:00Z, a version like records@12".to_owned(),
            known => known.join(", "),
        };
        let found = tags.into_iter().find(|tag| tag.name == name);
        found.ok_or_else(|| Error::Unknown {
            kind: "tag",
            name: name.to_owned(),
            known,
        })
    }

    /// Takes a tag away; the data stays until `vacuum`, if nothing else needs it.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub async fn delete_tag(&self, name: &str) -> Result<()> {
        self.changeable()?;
        self.tag(name).await?;
        let detail = format!("delete tag {name}");
        let own = col("name").eq(lit(name));
        let taken = self.take_out(TAGS, &detail, async |_| Ok(Some(own.clone())));
        if taken.await? == 0 {
            // Somebody else was faster.
            self.tag(name).await?;
        }
        Ok(())
    }

    /// The files of each tag, in the order of [`tags`](Self::tags); `None` where the log of a table has a version of it no
    /// more.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn held(&self, tags: &[Tag]) -> Result<Vec<Option<Held>>> {
        let mut sizes: Vec<Option<HashMap<(String, String), u64>>> = Vec::new();
        for tag in tags {
            let mut files = Some(HashMap::new());
            for (table, version) in &tag.versions {
                let log = Log::new(self.location(), schema::table(table)?)?;
                match (log.snapshot_of(*version).await, &mut files) {
                    (Ok(snapshot), Some(files)) => {
                        let of_table = snapshot.files().iter();
                        files.extend(
                            of_table
                                .map(|file| ((table.clone(), file.path.clone()), file.size_bytes)),
                        );
                    }
                    (Err(Error::Log { .. }), files) => *files = None,
                    (Err(error), _) => return Err(error),
                    (_, None) => {}
                }
            }
            sizes.push(files);
        }
        let mut users: HashMap<(String, String), u64> = HashMap::new();
        for file in sizes.iter().flatten().flat_map(HashMap::keys) {
            *users.entry(file.clone()).or_default() += 1;
        }
        let newest = self.as_it_is();
        for table in schema::tables()? {
            let snapshot = newest.snapshot(&table.name).await?;
            for file in snapshot.iter().flat_map(|snapshot| snapshot.files().iter()) {
                let file = (table.name.clone(), file.path.clone());
                *users.entry(file).or_default() += 1;
            }
        }
        let held = sizes.iter().map(|files| {
            let mut held = Held::default();
            for (file, bytes) in files.as_ref()? {
                held.file_count += 1;
                held.bytes += bytes;
                if users.get(file) == Some(&1) {
                    held.own_file_count += 1;
                    held.own_bytes += bytes;
                }
            }
            Some(held)
        });
        Ok(held.collect())
    }

    /// The versions of a table that tags name.
    pub(crate) async fn tagged(&self, table: &str) -> Result<BTreeSet<u64>> {
        let tags = self.as_it_is().tags().await?;
        let versions = tags.iter().filter_map(|tag| tag.versions.get(table));
        Ok(versions.copied().collect())
    }

    /// The same store, not as it was but as it is.
    fn as_it_is(&self) -> Self {
        Self {
            at: None,
            ..self.clone()
        }
    }

    async fn tags_of(&self, snapshot: &Snapshot) -> Result<Vec<Tag>> {
        if snapshot.files().is_empty() {
            return Ok(Vec::new());
        }
        let mut tags = Vec::new();
        let names = ["name", "note", "created_at", "versions"];
        for batch in self.read(TAGS, snapshot, &names, None).await? {
            let [names, notes, versions] =
                ["name", "note", "versions"].map(|name| column::text(&batch, name));
            let (names, notes, versions) = (names?, notes?, versions?);
            let times = column::numbers::<TimestampMicrosecondType>(&batch, "created_at")?;
            for row in 0..batch.num_rows() {
                tags.push(Tag {
                    name: names.value(row).to_owned(),
                    note: column::text_at(notes, row).map(str::to_owned),
                    created_at_us: times.value(row),
                    versions: parsed(versions.value(row))?,
                });
            }
        }
        tags.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(tags)
    }
}

impl Log {
    /// The data files that are there.
    async fn paths(&self, location: &Location) -> Result<HashSet<String>> {
        let files = self.data_files(location).await?.into_iter();
        Ok(files.map(|file| file.location.to_string()).collect())
    }
}

fn columns(tag: &Tag) -> BTreeMap<&'static str, ArrayRef> {
    let text = |text: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let versions = tag.versions.iter();
    let versions: String = versions
        .map(|(table, version)| format!("{table}@{version}\n"))
        .collect();
    let time = TimestampMicrosecondArray::from(vec![tag.created_at_us]).with_timezone("UTC");
    BTreeMap::from([
        ("name", text(Some(&tag.name))),
        ("note", text(tag.note.as_deref())),
        ("created_at", Arc::new(time) as ArrayRef),
        ("tsql_version", text(Some(env!("CARGO_PKG_VERSION")))),
        ("versions", text(Some(versions.trim_end()))),
    ])
}

fn parsed(versions: &str) -> Result<BTreeMap<String, u64>> {
    let parse = |line: &str| {
        let (table, version) = line.split_once('@')?;
        Some((table.to_owned(), version.parse().ok()?))
    };
    let versions = versions.lines().map(|line| {
        parse(line).ok_or_else(|| Error::damaged(TAGS, format!("`{line}` is no version")))
    });
    versions.collect()
}

/// Why this is no name of a tag.
fn refused_name(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_+/".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || !name.chars().all(is_plain) || name.len() > LONGEST_NAME {
        return Some(format!(
            "`{name}` is no name for a tag\nhint: up to {LONGEST_NAME} letters, digits and . - _ + /, a letter or digit first"
        ));
    }
    match name.parse() {
        Ok(At::Tag(_)) => None,
        _ => Some(format!("`{name}` would be taken for a time")),
    }
}

fn of_name(reason: String) -> Error {
    Error::Argument {
        name: "name",
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_taken_for_times() {
        for name in ["v1.0", "paper/table-2", "2026-11", "night_7"] {
            assert_eq!(refused_name(name), None, "{name}");
        }
        for name in [
            "",
            "2026-11-21",
            "records@1",
            "a b",
            "-v",
            "a\n",
            &"v".repeat(101),
        ] {
            assert!(refused_name(name).is_some(), "{name}");
        }
    }
}
