//! Subsets: the result of a query, or a random part of it, stored under a name and a version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::{col, lit};
use serde::Serialize;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::file::Effort;
use tsql_store::{Change, RewriteCache, Snapshot, Store, file};

use super::selection::Selection;

/// A version of a subset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Subset {
    /// Name.
    pub name: String,
    /// Version, from 1.
    pub version: i64,
    /// Members, in ascending order.
    pub members: Vec<String>,
}

/// Selection of the members among the values.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SubsetOptions {
    pub(crate) selection: Selection,
}

/// Default query of a subset of tasks: all configurations with records, and their graphs.
pub const TASK_QUERY: &str = "SELECT DISTINCT config_id, graph_id FROM records";

impl SubsetOptions {
    /// Draws `count` values with a seed: those with the smallest seeded hashes. Membership does not depend on the order
    /// of the values. After adding a tenth more values, nine of ten members remain.
    #[must_use]
    pub fn random(mut self, count: usize, seed: u64) -> Self {
        self.selection = Selection::Random { count, seed };
        self
    }

    /// Draws this number of tasks, the values of the second column, and up to so many members of each of them. A
    /// smaller selection with the same seed is a part of a larger one.
    #[must_use]
    pub fn tasks(mut self, tasks: usize, programs: usize, seed: u64) -> Self {
        self.selection = Selection::Tasks {
            tasks,
            programs,
            seed,
        };
        self
    }
}

/// Creates the next version of the subset `name`: the distinct values of the first column of `query`, or a random
/// selection of them. Returns the newest version if it has the same query, selection and members.
///
/// # Errors
/// [`Error::Query`] if `query` is invalid, [`Error::Argument`] if it returns fewer values or tasks than requested, or the
/// name is empty.
pub async fn create_subset(
    store: &Store,
    name: &str,
    query: &str,
    options: &SubsetOptions,
) -> Result<Subset> {
    if name.is_empty() || name.contains(['\n', '@']) {
        let reason = format!("`{name}` is not a valid name for a subset");
        return Err(Error::Argument {
            name: "name",
            reason,
        });
    }
    let selection = options.selection;
    let values = values(store, query, selection.tasks().is_some()).await?;
    let members = selection.select(values)?;
    let lines: String = members.iter().map(|member| format!("{member}\n")).collect();
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let new = StoredSubset {
        query: query.to_owned(),
        tasks: selection.tasks().map(count),
        random: selection.count().map(count),
        seed: selection.seed().map(u64::cast_signed),
        members: lines,
    };
    let table = schema::table("subsets")?;
    let mut version = 0;
    store
        .commit("subsets", "subset", async |snapshot: &Snapshot| {
            let last = newest_version(store, snapshot, name).await?;
            version = last.as_ref().map_or(0, |(version, _)| *version);
            // A process that was killed after its commit may repeat the request.
            if last.is_some_and(|(_, made)| made == new) {
                return Ok(None);
            }
            version = version.max(highest_version(snapshot, name).await?) + 1;
            let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
            let number =
                |number: Option<i64>| -> ArrayRef { Arc::new(Int64Array::from(vec![number])) };
            let now = vec![chrono::Utc::now().timestamp_micros()];
            let columns = [
                ("name", text(name)),
                ("version", number(Some(version))),
                ("query", text(query)),
                ("tasks", number(new.tasks)),
                ("random", number(new.random)),
                ("seed", number(new.seed)),
                ("member_count", number(Some(count(members.len())))),
                (
                    "created_at",
                    Arc::new(TimestampMicrosecondArray::from(now).with_timezone("UTC")),
                ),
                ("members", text(&new.members)),
            ];
            let batch = file::batch(table, columns.into_iter().collect())?;
            let added = file::write(store.location(), table, &[], &[batch], Effort::Ingest).await?;
            Ok(Some(Change {
                add: vec![added],
                transactions: vec![(version_counter(name), version)],
                ..Change::default()
            }))
        })
        .await?;
    Ok(Subset {
        name: name.to_owned(),
        version,
        members,
    })
}

/// Returns the distinct values of the first column of a query, as text, by those of the second column if it has tasks.
async fn values(
    store: &Store,
    query: &str,
    has_tasks: bool,
) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let context = open_session(store).await?;
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for batch in collect(&context, query).await? {
        let texts = |place: usize| -> Result<Option<StringArray>> {
            let Some(column) = batch.columns().get(place) else {
                return Ok(None);
            };
            let cast = cast(column, &DataType::Utf8);
            let cast = cast.map_err(|error| query_error(format!("--query: {error}")))?;
            Ok(cast.as_string_opt::<i32>().cloned())
        };
        let Some(members) = texts(0)? else {
            continue;
        };
        let tasks = texts(1)?.filter(|_| has_tasks);
        if has_tasks && tasks.is_none() {
            let reason = "--query: expected two columns, the members and their tasks".to_owned();
            return Err(query_error(reason));
        }
        for (row, member) in members.iter().enumerate() {
            let Some(member) = member else {
                continue;
            };
            if member.contains('\n') {
                let reason = format!("--query: a value has more than one line: {member:?}");
                return Err(query_error(reason));
            }
            let task = tasks.as_ref().filter(|tasks| tasks.is_valid(row));
            let task = task.map_or("", |tasks| tasks.value(row));
            let of_task = values.entry(task.to_owned()).or_default();
            of_task.insert(member.to_owned());
        }
    }
    Ok(values)
}

/// Definition and members of a version.
#[derive(PartialEq, Eq)]
struct StoredSubset {
    query: String,
    tasks: Option<i64>,
    random: Option<i64>,
    seed: Option<i64>,
    members: String,
}

/// Returns the newest version of the subset `name`.
async fn newest_version(
    store: &Store,
    snapshot: &Snapshot,
    name: &str,
) -> Result<Option<(i64, StoredSubset)>> {
    if snapshot.files().is_empty() {
        return Ok(None);
    }
    let columns = [
        "name", "version", "query", "tasks", "random", "seed", "members",
    ];
    let own = col("name").eq(lit(name));
    let mut last: Option<(i64, StoredSubset)> = None;
    for batch in store.read("subsets", snapshot, &columns, Some(own)).await? {
        let [names, queries, members] =
            ["name", "query", "members"].map(|column| column::text(&batch, column));
        let (names, queries, members) = (names?, queries?, members?);
        let [versions, tasks, random, seeds] = ["version", "tasks", "random", "seed"]
            .map(|column| column::numbers::<Int64Type>(&batch, column));
        let (versions, tasks, random, seeds) = (versions?, tasks?, random?, seeds?);
        for row in (0..batch.num_rows()).filter(|&row| names.value(row) == name) {
            let version = versions.value(row);
            if last.as_ref().is_none_or(|(known, _)| *known < version) {
                let made = StoredSubset {
                    query: queries.value(row).to_owned(),
                    tasks: column::value(tasks, row),
                    random: column::value(random, row),
                    seed: column::value(seeds, row),
                    members: members.value(row).to_owned(),
                };
                last = Some((version, made));
            }
        }
    }
    Ok(last)
}

/// Reads a version of a subset, by default the newest.
///
/// # Errors
/// [`Error::Unknown`] if it does not exist.
pub async fn subset(store: &Store, name: &str, version: Option<i64>) -> Result<Subset> {
    let context = open_session(store).await?;
    let sql = "SELECT name, version, members FROM stored.subsets ORDER BY version";
    let (mut found, mut known) = (None, BTreeSet::new());
    for batch in collect(&context, sql).await? {
        let (names, members) = (
            column::text(&batch, "name")?,
            column::text(&batch, "members")?,
        );
        let versions = column::numbers::<Int64Type>(&batch, "version")?;
        for row in 0..batch.num_rows() {
            known.insert(format!("{}@{}", names.value(row), versions.value(row)));
            let own = versions.value(row);
            if names.value(row) == name && version.is_none_or(|version| version == own) {
                found = Some(Subset {
                    name: name.to_owned(),
                    version: own,
                    members: members.value(row).lines().map(str::to_owned).collect(),
                });
            }
        }
    }
    found.ok_or_else(|| Error::Unknown {
        kind: "subset",
        name: version.map_or_else(|| name.to_owned(), |version| format!("{name}@{version}")),
        known: known.into_iter().collect::<Vec<_>>().join(", "),
    })
}

/// Deletes `NAME@VERSION`, or `NAME` with all its versions. Returns the number of deleted versions. Their version
/// numbers are not used again.
///
/// # Errors
/// [`Error::Unknown`] if there is no such subset, and failures of the storage.
pub async fn delete_subset(store: &Store, name: &str) -> Result<u64> {
    store.check_writable()?;
    let (plain, version) = match name.rsplit_once('@') {
        Some((plain, version)) => (
            plain,
            Some(version.parse().map_err(|_| {
                let reason = format!("`{version}` is not a version\nhint: NAME@2");
                Error::Argument {
                    name: "name",
                    reason,
                }
            })?),
        ),
        None => (name, None),
    };
    let found = subset(store, plain, version).await?;
    let mut own = col("name").eq(lit(plain));
    if let Some(version) = version {
        own = own.and(col("version").eq(lit(version)));
    }
    let detail = format!("delete subset {name}");
    let (mut deleted, mut rests) = (0, RewriteCache::default());
    store
        .commit("subsets", &detail, async |snapshot: &Snapshot| {
            let (rows, mut change) = store
                .plan_delete("subsets", snapshot, &own, &mut rests)
                .await?;
            deleted = rows;
            let highest = highest_version(snapshot, plain).await?.max(found.version);
            change.transactions = vec![(version_counter(plain), highest)];
            Ok((rows > 0).then_some(change))
        })
        .await?;
    Ok(deleted)
}

/// Highest version that a subset of this name ever had; 0 if none is recorded.
async fn highest_version(snapshot: &Snapshot, name: &str) -> Result<i64> {
    let version = snapshot.transaction(&version_counter(name)).await?;
    Ok(version.unwrap_or_default())
}

/// Name of the application transaction that counts the versions of a subset.
fn version_counter(name: &str) -> String {
    format!("tsql subset {name}")
}

fn query_error(reason: String) -> Error {
    Error::Argument {
        name: "query",
        reason,
    }
}
