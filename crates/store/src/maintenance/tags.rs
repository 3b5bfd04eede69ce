//! Tags: names for a consistent state of all tables.
//!
//! A tag is a row with the version of each table. Tagged data stays: `vacuum` keeps the files of tagged versions, and
//! writers do not clean up logs while there is a tag.

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

/// A name for a consistent state of all tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// Note by its creator.
    pub note: Option<String>,
    /// Creation time in microseconds since 1970.
    pub created_at_us: i64,
    /// Table versions. Tables that are not listed had no rows.
    pub versions: BTreeMap<String, u64>,
}

/// Data files of a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TagFiles {
    /// Number of files.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of files that neither the newest versions nor another tag has. Deletion of the tag makes them obsolete.
    pub own_file_count: u64,
    /// Their size in bytes.
    pub own_bytes: u64,
}

impl Store {
    /// Creates a tag for the state of all tables: their newest versions, or those at which this store is opened. The
    /// state is consistent: all referenced rows are in it.
    ///
    /// # Errors
    /// [`Error::Argument`] if `name` is invalid or in use, [`Error::NoVersion`] if `vacuum` has deleted files of the
    /// state, and failures of the storage.
    pub async fn create_tag(&self, name: &str, note: Option<&str>) -> Result<Tag> {
        if let Some(reason) = invalid_name(name) {
            return Err(name_error(reason));
        }
        let table = schema::table(TAGS)?;
        let newest = self.at_newest();
        let mut made = None;
        let detail = format!("tag {name}");
        newest
            .commit(TAGS, &detail, async |tags: &Snapshot| {
                if newest
                    .read_tags(tags)
                    .await?
                    .iter()
                    .any(|tag| tag.name == name)
                {
                    let hint =
                        "hint: `tsql tag list` lists all tags; choose another name, or run `tsql tag delete` first";
                    return Err(name_error(format!(
                        "the tag `{name}` exists already\n{hint}"
                    )));
                }
                let tag = Tag {
                    name: name.to_owned(),
                    note: note.map(str::to_owned),
                    created_at_us: chrono::Utc::now().timestamp_micros(),
                    versions: self.current_versions().await?,
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

    /// Returns the versions of all visible tables except `tags`, whose files all exist. With [`At::Versions`], the
    /// store can be opened at this state later.
    ///
    /// # Errors
    /// [`Error::NoVersion`] if `vacuum` has deleted files of these versions, and failures of the storage.
    pub async fn current_versions(&self) -> Result<BTreeMap<String, u64>> {
        let mut versions = BTreeMap::new();
        let all = schema::tables()?.iter();
        let all: Vec<_> = all.filter(|table| table.name != TAGS).collect();
        for (name, snapshot) in self.consistent_snapshots(&all).await? {
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
                    let reason = format!(
                        "`tsql vacuum` has deleted {} of {name}@{version}",
                        lost.path
                    );
                    return Err(Error::NoVersion(reason));
                }
            }
            versions.insert(table.name.clone(), snapshot.version());
        }
        Ok(versions)
    }

    /// Returns the same store, fixed to the current versions of all of its tables.
    ///
    /// # Errors
    /// As [`create_tag`](Self::create_tag).
    pub async fn pin_versions(&self) -> Result<Self> {
        self.at(&At::Versions(self.current_versions().await?)).await
    }

    /// Returns all tags, by name.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn tags(&self) -> Result<Vec<Tag>> {
        match self.snapshot(TAGS).await? {
            Some(tags) => self.read_tags(&tags).await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns the tag of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is none.
    pub async fn tag(&self, name: &str) -> Result<Tag> {
        let tags = self.tags().await?;
        let known: Vec<&str> = tags.iter().map(|tag| tag.name.as_str()).collect();
        let known = match known.as_slice() {
            [] => "none yet; `tsql tag create` creates one. A time is like 2026-11-21T17:00:00Z, a version like records@12".to_owned(),
            known => known.join(", "),
        };
        let found = tags.into_iter().find(|tag| tag.name == name);
        found.ok_or_else(|| Error::Unknown {
            kind: "tag",
            name: name.to_owned(),
            known,
        })
    }

    /// Deletes a tag. The data stays until `vacuum`, and longer if something else needs it.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is none.
    pub async fn delete_tag(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        self.tag(name).await?;
        let detail = format!("delete tag {name}");
        let own = col("name").eq(lit(name));
        let taken = self.delete_rows(TAGS, &detail, async |_| Ok(Some(own.clone())));
        if taken.await? == 0 {
            // Another writer was faster.
            self.tag(name).await?;
        }
        Ok(())
    }

    /// Returns the file counts of each tag, in the order of [`tags`](Self::tags). `None` if the log of a table does not
    /// have its version any more.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn tag_files(&self, tags: &[Tag]) -> Result<Vec<Option<TagFiles>>> {
        let mut sizes: Vec<Option<HashMap<(String, String), u64>>> = Vec::new();
        for tag in tags {
            let mut files = Some(HashMap::new());
            for (table, version) in &tag.versions {
                let log = Log::new(self.location(), schema::table(table)?)?;
                match (log.snapshot_at_version(*version).await, &mut files) {
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
        let newest = self.at_newest();
        for table in schema::tables()? {
            let snapshot = newest.snapshot(&table.name).await?;
            for file in snapshot.iter().flat_map(|snapshot| snapshot.files().iter()) {
                let file = (table.name.clone(), file.path.clone());
                *users.entry(file).or_default() += 1;
            }
        }
        let held = sizes.iter().map(|files| {
            let mut held = TagFiles::default();
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

    /// Returns the versions of a table that tags refer to.
    pub(crate) async fn tagged_versions(&self, table: &str) -> Result<BTreeSet<u64>> {
        let tags = self.at_newest().tags().await?;
        let versions = tags.iter().filter_map(|tag| tag.versions.get(table));
        Ok(versions.copied().collect())
    }

    /// Returns the same store at its newest state.
    fn at_newest(&self) -> Self {
        Self {
            at: None,
            ..self.clone()
        }
    }

    async fn read_tags(&self, snapshot: &Snapshot) -> Result<Vec<Tag>> {
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
                    versions: parse_versions(versions.value(row))?,
                });
            }
        }
        tags.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(tags)
    }
}

impl Log {
    /// Returns the paths of the existing data files.
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

fn parse_versions(versions: &str) -> Result<BTreeMap<String, u64>> {
    let parse = |line: &str| {
        let (table, version) = line.split_once('@')?;
        Some((table.to_owned(), version.parse().ok()?))
    };
    let versions = versions.lines().map(|line| {
        parse(line).ok_or_else(|| Error::damaged(TAGS, format!("`{line}` is not a version")))
    });
    versions.collect()
}

/// Returns the reason why this is not a valid tag name, if any.
fn invalid_name(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_+/".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || !name.chars().all(is_plain) || name.len() > LONGEST_NAME {
        return Some(format!(
            "`{name}` is not a valid tag name\nhint: up to {LONGEST_NAME} letters, digits and . - _ + /, a letter or digit first"
        ));
    }
    match name.parse() {
        Ok(At::Tag(_)) => None,
        _ => Some(format!(
            "`{name}` has the form of a time, expected another name"
        )),
    }
}

fn name_error(reason: String) -> Error {
    Error::Argument {
        name: "name",
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_parsed_as_times() {
        for name in ["v1.0", "paper/table-2", "2026-11", "night_7"] {
            assert_eq!(invalid_name(name), None, "{name}");
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
            assert!(invalid_name(name).is_some(), "{name}");
        }
    }
}
