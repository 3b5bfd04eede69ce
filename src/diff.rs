//! What differs between two versions of a store: rows that came, and rows that went.
//!
//! Rows are the same where their keys are. Files that both versions have are not read.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::common::JoinType;
use datafusion::dataframe::DataFrame;
use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::prelude::{Expr, col, lit};

use crate::column;
use crate::error::{Error, Result};
use crate::schema::{self, Table};
use crate::store::{Snapshot, Store};

/// What differs between two versions of a store, each as [`Store::at`] gives it: see [`Store::diff`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// Counts: `platforms`, then the tables in the order in which they are committed.
    pub counts: Vec<Difference>,
    /// Files that were ingested, taken away, or have grown.
    pub sources: Vec<SourceDifference>,
}

/// How many rows of something there were and are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// A table, or `platforms`.
    pub what: String,
    /// The platform whose rows these are; `None` for all.
    pub platform: Option<String>,
    /// Rows of the first version.
    pub before: u64,
    /// Rows of the second version.
    pub after: u64,
    /// Rows that only the second version has.
    pub added: u64,
    /// Rows that only the first version has.
    pub taken_away: u64,
}

/// A file whose records came or went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceDifference {
    /// Dataset of its records.
    pub dataset: String,
    /// Their platform.
    pub platform: String,
    /// Its name.
    pub name: String,
    /// Its records in the first version; `None` where it has no such file.
    pub records_before: Option<u64>,
    /// Its records in the second version; `None` where it has no such file.
    pub records_after: Option<u64>,
}

/// The table of files, of which a row is a part of one.
const SOURCES: &str = "sources";

/// Shown whether it differs or not.
const ALWAYS: [&str; 4] = ["graphs", "configurations", "records", SOURCES];

impl Store {
    /// What differs between the version that this is and another one of the same store.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::demo().await?;
    /// store.create_tag("v1", None).await?;
    /// let diff = store.at(&"v1".parse()?).await?.diff(&store).await?;
    /// assert!(diff.sources.is_empty());
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Failures of the storage, where `vacuum` has taken files of a version among them.
    pub async fn diff(&self, after: &Store) -> Result<Diff> {
        let mut diff = Diff::default();
        let all = schema::tables()?.iter();
        for table in all.filter(|table| table.name != "tags") {
            let snapshots = [self, after].map(|store| store.snapshot(&table.name));
            let [was, is] = snapshots;
            let versions = Versions {
                table,
                was: (self, was.await?),
                is: (after, is.await?),
            };
            let counts = if table.name == SOURCES {
                diff.sources = versions.sources().await?;
                versions.of_sources(&diff.sources).await?
            } else {
                versions.counts().await?
            };
            if table.name == "records" {
                let platforms = |of: fn(&Difference) -> u64| -> BTreeSet<&String> {
                    let there = counts.iter().filter(|count| of(count) > 0);
                    there.filter_map(|count| count.platform.as_ref()).collect()
                };
                let (was, is) = (
                    platforms(|count| count.before),
                    platforms(|count| count.after),
                );
                let platforms = Difference {
                    what: "platforms".to_owned(),
                    platform: None,
                    before: was.len() as u64,
                    after: is.len() as u64,
                    added: is.difference(&was).count() as u64,
                    taken_away: was.difference(&is).count() as u64,
                };
                diff.counts.insert(0, platforms);
            }
            let is_shown = |count: &Difference| {
                count.added + count.taken_away > 0
                    || count.platform.is_none() && ALWAYS.contains(&count.what.as_str())
            };
            diff.counts.extend(counts.into_iter().filter(is_shown));
        }
        Ok(diff)
    }
}

/// A table in both versions, each with its store.
struct Versions<'a> {
    table: &'static Table,
    was: (&'a Store, Option<Snapshot>),
    is: (&'a Store, Option<Snapshot>),
}

/// Rows by platform: of those that have none, under `None`.
type Counted = BTreeMap<Option<String>, u64>;

impl Versions<'_> {
    /// The rows of all, and of each platform.
    async fn counts(&self) -> Result<Vec<Difference>> {
        let (was, is) = (
            self.different(&self.was, &self.is),
            self.different(&self.is, &self.was),
        );
        let (added, taken_away) = match (was, is) {
            (None, None) => Default::default(),
            (Some(was), None) => (Counted::new(), of_files(&was)),
            (None, Some(is)) => (of_files(&is), Counted::new()),
            (Some(was), Some(is)) => {
                let (was, is) = (self.keys(self.was.0, &was)?, self.keys(self.is.0, &is)?);
                let added = self.lacking(is.clone(), was.clone()).await?;
                (added, self.lacking(was, is).await?)
            }
        };
        let all = |of: &(&Store, Option<Snapshot>)| of.1.as_ref().map(of_files).unwrap_or_default();
        Ok(self.differences(&all(&self.was), &all(&self.is), &added, &taken_away))
    }

    fn differences(
        &self,
        before: &Counted,
        after: &Counted,
        added: &Counted,
        taken_away: &Counted,
    ) -> Vec<Difference> {
        let difference = |platform: Option<&String>| {
            let of = |counted: &Counted| match platform {
                None => counted.values().sum(),
                Some(_) => counted.get(&platform.cloned()).copied().unwrap_or(0),
            };
            Difference {
                what: self.table.name.clone(),
                platform: platform.cloned(),
                before: of(before),
                after: of(after),
                added: of(added),
                taken_away: of(taken_away),
            }
        };
        let platforms: BTreeSet<&String> = [before, after, added, taken_away]
            .into_iter()
            .flat_map(|counted| counted.keys().flatten())
            .collect();
        let all = std::iter::once(difference(None));
        all.chain(
            platforms
                .into_iter()
                .map(|platform| difference(Some(platform))),
        )
        .collect()
    }

    /// The version with those of its files only that the other one does not have, if there are any.
    fn different(
        &self,
        of: &(&Store, Option<Snapshot>),
        other: &(&Store, Option<Snapshot>),
    ) -> Option<Snapshot> {
        let snapshot = of.1.as_ref()?;
        let others = other.1.iter().flat_map(|other| other.files().iter());
        let others: HashSet<&str> = others.map(|file| file.path.as_str()).collect();
        let files = snapshot.files().iter();
        let files = files.filter(|file| !others.contains(file.path.as_str()));
        let files: Vec<_> = files.cloned().collect();
        (!files.is_empty()).then(|| snapshot.only(files))
    }

    /// What tells rows apart: the key, and the folders that they lie in.
    fn key(&self) -> Vec<&'static str> {
        let names = self.table.partition.iter().chain(&self.table.key);
        names.map(String::as_str).collect()
    }

    fn keys(&self, store: &Store, snapshot: &Snapshot) -> Result<DataFrame> {
        let key: Vec<Expr> = self.key().into_iter().map(col).collect();
        let frame = store.frame(&self.table.name, snapshot)?;
        frame.select(key).map_err(Error::Query)
    }

    /// How many rows the other version does not have, by platform.
    async fn lacking(&self, of: DataFrame, other: DataFrame) -> Result<Counted> {
        let key = self.key();
        let other = other.alias("other").map_err(Error::Query)?;
        let lacking = of.join(other, JoinType::LeftAnti, &key, &key, None);
        let has_platform = self.table.partition.iter().any(|name| name == PLATFORM);
        let by = if has_platform {
            vec![col(PLATFORM)]
        } else {
            Vec::new()
        };
        let lacking =
            lacking.and_then(|rows| rows.aggregate(by, vec![count(lit(1)).alias("rows")]));
        counted(&collected(lacking).await?, has_platform)
    }

    /// The files of both versions that differ in their records or are in one of them only.
    async fn sources(&self) -> Result<Vec<SourceDifference>> {
        let (was, is) = (listed(&self.was).await?, listed(&self.is).await?);
        let all: BTreeSet<_> = was.keys().chain(is.keys()).collect();
        let differ = all
            .into_iter()
            .filter(|source| was.get(*source) != is.get(*source));
        let differ = differ.map(|source| {
            let (dataset, platform, name, _) = source.clone();
            SourceDifference {
                dataset,
                platform,
                name,
                records_before: was.get(source).copied(),
                records_after: is.get(source).copied(),
            }
        });
        Ok(differ.collect())
    }

    async fn of_sources(&self, differ: &[SourceDifference]) -> Result<Vec<Difference>> {
        let count = |platforms: Vec<String>| {
            let mut counted = Counted::new();
            for platform in platforms {
                *counted.entry(Some(platform)).or_default() += 1;
            }
            counted
        };
        let platform = |(_, platform, _, _): Source| platform;
        let was = listed(&self.was).await?.into_keys().map(platform).collect();
        let is = listed(&self.is).await?.into_keys().map(platform).collect();
        let only = |has: fn(&SourceDifference) -> bool| {
            let only = differ.iter().filter(|source| has(source));
            count(only.map(|source| source.platform.clone()).collect())
        };
        let added = only(|source| source.records_before.is_none());
        let taken_away = only(|source| source.records_after.is_none());
        Ok(self.differences(&count(was), &count(is), &added, &taken_away))
    }
}

const PLATFORM: &str = "platform";

/// Dataset, platform, name and number of a file.
type Source = (String, String, String, i64);

/// All files with their records.
async fn listed((store, snapshot): &(&Store, Option<Snapshot>)) -> Result<BTreeMap<Source, u64>> {
    let mut listed = BTreeMap::new();
    let Some(snapshot) = snapshot
        .as_ref()
        .filter(|snapshot| !snapshot.files().is_empty())
    else {
        return Ok(listed);
    };
    let by = ["dataset", PLATFORM, "name", "source_id"].map(col).to_vec();
    let frame = store.frame(SOURCES, snapshot)?;
    let rows = frame.aggregate(by, vec![sum(col("record_count")).alias("records")]);
    for batch in collected(rows).await? {
        let (datasets, platforms) = (
            column::text(&batch, "dataset")?,
            column::text(&batch, PLATFORM)?,
        );
        let names = column::text(&batch, "name")?;
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let records = column::numbers::<Int64Type>(&batch, "records")?;
        for row in 0..batch.num_rows() {
            let [dataset, platform, name] =
                [datasets, platforms, names].map(|texts| texts.value(row).to_owned());
            let source = (dataset, platform, name, ids.value(row));
            listed.insert(source, records.value(row).cast_unsigned());
        }
    }
    Ok(listed)
}

async fn collected(frame: datafusion::common::Result<DataFrame>) -> Result<Vec<RecordBatch>> {
    frame
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)
}

/// The rows of a version by platform, as its log has them.
fn of_files(snapshot: &Snapshot) -> Counted {
    let mut counted = Counted::new();
    for file in snapshot.files().iter() {
        let mut folders = file.partition.iter();
        let platform = folders.find(|(name, _)| name == PLATFORM);
        let platform = platform.map(|(_, value)| value.clone().unwrap_or_default());
        *counted.entry(platform).or_default() += file.stats.num_records;
    }
    counted
}

fn counted(batches: &[RecordBatch], has_platform: bool) -> Result<Counted> {
    let mut counted = Counted::new();
    for batch in batches {
        let rows = column::numbers::<Int64Type>(batch, "rows")?;
        let platforms = has_platform
            .then(|| column::text(batch, PLATFORM))
            .transpose()?;
        for row in 0..batch.num_rows() {
            let platform = platforms.map(|texts| texts.value(row).to_owned());
            *counted.entry(platform).or_default() += rows.value(row).cast_unsigned();
        }
    }
    Ok(counted)
}
