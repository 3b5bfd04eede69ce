//! Compares two versions of a store: added and removed rows.
//!
//! Rows are equal if their keys are. Files in both versions are not read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::common::JoinType;
use datafusion::dataframe::DataFrame;
use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::prelude::{Expr, col, lit};
use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::{Table, column};
use tsql_store::{Snapshot, Store};

/// Differences between two versions of a store, each from [`Store::at`]: see [`diff`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// Counts: `platforms`, then the tables in the order in which they are committed.
    pub counts: Vec<Difference>,
    /// Files that were ingested, removed or extended.
    pub sources: Vec<SourceDifference>,
}

/// Numbers of rows in both versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// A table, or `platforms`.
    pub kind: String,
    /// Platform of these rows; `None` for all.
    pub platform: Option<String>,
    /// Number of rows of the first version.
    pub before: u64,
    /// Number of rows of the second version.
    pub after: u64,
    /// Number of rows that only the second version has.
    pub added: u64,
    /// Number of rows that only the first version has.
    pub removed: u64,
}

/// A file whose records were added or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceDifference {
    /// Dataset of its records.
    pub dataset: String,
    /// Platform of its records.
    pub platform: String,
    /// Name of the file.
    pub name: String,
    /// Number of its records in the first version; `None` if the file is not in it.
    pub records_before: Option<u64>,
    /// Number of its records in the second version; `None` if the file is not in it.
    pub records_after: Option<u64>,
}

/// Name of the table of files; a row is a segment of a file.
const SOURCES: &str = "sources";

/// Tables that are reported even without differences.
const ALWAYS: [&str; 4] = ["graphs", "configurations", "records", SOURCES];

/// Returns the differences between this version and another version of the same store.
///
/// # Errors
/// Failures of the storage, including files that `vacuum` has removed.
pub async fn diff(store: &Store, after: &Store) -> Result<Diff> {
    let mut diff = Diff::default();
    let all = schema::tables()?.iter();
    for table in all.filter(|table| table.name != "tags") {
        let snapshots = [store, after].map(|store| store.snapshot(&table.name));
        let [was, is] = snapshots;
        let versions = Versions {
            table,
            was: (store, was.await?),
            is: (after, is.await?),
        };
        let counts = if table.name == SOURCES {
            diff.sources = versions.sources().await?;
            versions.source_counts(&diff.sources).await?
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
                kind: "platforms".to_owned(),
                platform: None,
                before: was.len() as u64,
                after: is.len() as u64,
                added: is.difference(&was).count() as u64,
                removed: was.difference(&is).count() as u64,
            };
            diff.counts.insert(0, platforms);
        }
        let is_shown = |count: &Difference| {
            count.added + count.removed > 0
                || count.platform.is_none() && ALWAYS.contains(&count.kind.as_str())
        };
        diff.counts.extend(counts.into_iter().filter(is_shown));
    }
    Ok(diff)
}

/// A table in both versions, each with its store.
struct Versions<'a> {
    table: &'static Table,
    was: (&'a Store, Option<Snapshot>),
    is: (&'a Store, Option<Snapshot>),
}

/// Row counts by platform; tables without platforms use `None`.
type RowCounts = BTreeMap<Option<String>, u64>;

impl Versions<'_> {
    /// Counts all rows, and the rows of each platform.
    async fn counts(&self) -> Result<Vec<Difference>> {
        let (was, is) = (
            self.without_shared_files(&self.was, &self.is),
            self.without_shared_files(&self.is, &self.was),
        );
        let (added, removed) = match (was, is) {
            (None, None) => Default::default(),
            (Some(was), None) => (RowCounts::new(), rows_by_platform(&was)),
            (None, Some(is)) => (rows_by_platform(&is), RowCounts::new()),
            (Some(was), Some(is)) => {
                let (was, is) = (self.keys(self.was.0, &was)?, self.keys(self.is.0, &is)?);
                let added = self.count_missing(is.clone(), was.clone()).await?;
                (added, self.count_missing(was, is).await?)
            }
        };
        let all = |of: &(&Store, Option<Snapshot>)| {
            of.1.as_ref().map(rows_by_platform).unwrap_or_default()
        };
        Ok(self.differences(&all(&self.was), &all(&self.is), &added, &removed))
    }

    fn differences(
        &self,
        before: &RowCounts,
        after: &RowCounts,
        added: &RowCounts,
        removed: &RowCounts,
    ) -> Vec<Difference> {
        let difference = |platform: Option<&String>| {
            let of = |counted: &RowCounts| match platform {
                None => counted.values().sum(),
                Some(_) => counted.get(&platform.cloned()).copied().unwrap_or(0),
            };
            Difference {
                kind: self.table.name.clone(),
                platform: platform.cloned(),
                before: of(before),
                after: of(after),
                added: of(added),
                removed: of(removed),
            }
        };
        let platforms: BTreeSet<&String> = [before, after, added, removed]
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

    /// Returns the snapshot restricted to files that the other version lacks, if there are any.
    fn without_shared_files(
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
        (!files.is_empty()).then(|| snapshot.with_files(files))
    }

    /// Returns the columns that identify a row: the key and the partition columns.
    fn key(&self) -> Vec<&'static str> {
        let names = self.table.partition.iter().chain(&self.table.key);
        names.map(String::as_str).collect()
    }

    fn keys(&self, store: &Store, snapshot: &Snapshot) -> Result<DataFrame> {
        let key: Vec<Expr> = self.key().into_iter().map(col).collect();
        let frame = store.frame(&self.table.name, snapshot)?;
        frame.select(key).map_err(Error::Query)
    }

    /// Counts the rows that the other version lacks, by platform.
    async fn count_missing(&self, of: DataFrame, other: DataFrame) -> Result<RowCounts> {
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
        counts_by_platform(&collect_frame(lacking).await?, has_platform)
    }

    /// Returns the files that differ in their records or are in one version only.
    async fn sources(&self) -> Result<Vec<SourceDifference>> {
        let (was, is) = (
            records_by_source(&self.was).await?,
            records_by_source(&self.is).await?,
        );
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

    async fn source_counts(&self, differ: &[SourceDifference]) -> Result<Vec<Difference>> {
        let count = |platforms: Vec<String>| {
            let mut counted = RowCounts::new();
            for platform in platforms {
                *counted.entry(Some(platform)).or_default() += 1;
            }
            counted
        };
        let platform = |(_, platform, _, _): Source| platform;
        let was = records_by_source(&self.was)
            .await?
            .into_keys()
            .map(platform)
            .collect();
        let is = records_by_source(&self.is)
            .await?
            .into_keys()
            .map(platform)
            .collect();
        let only = |has: fn(&SourceDifference) -> bool| {
            let only = differ.iter().filter(|source| has(source));
            count(only.map(|source| source.platform.clone()).collect())
        };
        let added = only(|source| source.records_before.is_none());
        let removed = only(|source| source.records_after.is_none());
        Ok(self.differences(&count(was), &count(is), &added, &removed))
    }
}

const PLATFORM: &str = "platform";

/// Dataset, platform, name and `source_id` of a file.
type Source = (String, String, String, i64);

/// Returns all files with their record counts.
async fn records_by_source(
    (store, snapshot): &(&Store, Option<Snapshot>),
) -> Result<BTreeMap<Source, u64>> {
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
    for batch in collect_frame(rows).await? {
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

async fn collect_frame(frame: datafusion::common::Result<DataFrame>) -> Result<Vec<RecordBatch>> {
    frame
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)
}

/// Returns the row counts of a snapshot by platform, from its log.
fn rows_by_platform(snapshot: &Snapshot) -> RowCounts {
    let mut counted = RowCounts::new();
    for file in snapshot.files().iter() {
        let mut folders = file.partition.iter();
        let platform = folders.find(|(name, _)| name == PLATFORM);
        let platform = platform.map(|(_, value)| value.clone().unwrap_or_default());
        *counted.entry(platform).or_default() += file.stats.num_records;
    }
    counted
}

fn counts_by_platform(batches: &[RecordBatch], has_platform: bool) -> Result<RowCounts> {
    let mut counted = RowCounts::new();
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
