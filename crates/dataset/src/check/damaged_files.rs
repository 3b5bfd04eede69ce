//! Damaged data files, and their repair.
//!
//! - If only the pre-aggregates are damaged, the file is rewritten from its rows.
//! - Otherwise it is removed. Sources that become incomplete are found by their rows
//!   ([`incomplete_sources`](super::incomplete_sources)). Rows that people wrote are in no other file and are lost. The
//!   file itself stays until `tsql vacuum`.

use std::collections::BTreeMap;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{col, lit};
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::{Table, column};
use tsql_store::file::DataFile;
use tsql_store::{Change, Snapshot, Store};

use super::report::{CheckReport, RepairItem};
use super::sources::file_path;

/// Tables whose rows can be rebuilt from source files, and their count columns in the ingest log.
const FROM_FILES: [(&str, &str); 2] = [("records", "record_count"), ("lines", "other_count")];

/// Other tables whose rows are built from source files.
const OF_SOURCES: [&str; 13] = [
    "node_types",
    "graphs",
    "tasks",
    "texts",
    "samples",
    "environments",
    "configurations",
    "runs",
    "network_tasks",
    "workloads",
    "relays",
    "spaces",
    "sources",
];

/// A damaged data file.
pub(super) struct DamagedDataFile {
    table: &'static Table,
    file: DataFile,
    reason: String,
}

/// Repair of the damaged files of a table.
enum Remedy {
    /// The files are rewritten from their rows.
    Rows,
    /// The files are removed.
    Remove {
        /// Describes the consequences.
        hint: String,
        /// Description of the rows that are in no other file.
        lost: Option<String>,
    },
}

/// A source file of rows.
struct Source {
    /// Path as given.
    pub path: String,
    /// Number of its rows that are lost.
    rows: u64,
}

/// Reads all data files, and verifies their pre-aggregates if their bytes are intact.
pub(super) async fn find_damaged(
    store: &Store,
    checked: &mut CheckReport,
) -> Result<Vec<DamagedDataFile>> {
    let mut found = Vec::new();
    for table in schema::tables()? {
        let Some(snapshot) = store.snapshot(&table.name).await? else {
            continue;
        };
        for file in snapshot.files().iter() {
            checked.files += 1;
            checked.file_bytes += file.size_bytes;
            checked.without_checksums += u64::from(file.checksums.is_none());
            let mut damage = store.data_file_damage(table, file).await?;
            if damage.is_none() {
                damage = store.rollup_damage(table, &snapshot, file).await?;
            }
            found.extend(damage.map(|reason| DamagedDataFile {
                table,
                file: file.clone(),
                reason,
            }));
        }
    }
    Ok(found)
}

/// Describes the damage, with a hint for each file.
pub(super) async fn describe_damage(
    store: &Store,
    found: &[DamagedDataFile],
) -> Result<Vec<(String, String)>> {
    let mut told = Vec::new();
    for (damaged, remedy) in remedies(store, found).await? {
        let hint = match &remedy {
            Remedy::Rows => "`tsql check --repair` rewrites it from its rows",
            Remedy::Remove { hint, .. } => hint.as_str(),
        };
        for damaged in damaged {
            let reason = format!("{}\nhint: {hint}", damaged.reason);
            told.push((damaged.table.name.clone(), reason));
        }
    }
    Ok(told)
}

/// Repairs damaged files. Returns what was done, and whether rows were removed.
pub(super) async fn repair_files(store: &Store) -> Result<(Option<RepairItem>, bool)> {
    let found = find_damaged(store, &mut CheckReport::default()).await?;
    let mut removes = false;
    let mut done = RepairItem {
        description: "damaged data files",
        count: 0,
        effect: "rewrites them from their rows, or removes them",
        is_damage: true,
        next_commands: Vec::new(),
        lost: Vec::new(),
    };
    for (damaged, remedy) in remedies(store, &found).await? {
        let anew = matches!(remedy, Remedy::Rows);
        for damaged in &damaged {
            replace_file(store, damaged, anew).await?;
        }
        done.count += damaged.len() as u64;
        removes |= !anew;
        if let Remedy::Remove { lost, .. } = remedy {
            done.lost.extend(lost);
        }
    }
    Ok(((done.count > 0).then_some(done), removes))
}

/// Groups the damaged files of each table by their repair.
async fn remedies<'a>(
    store: &Store,
    found: &'a [DamagedDataFile],
) -> Result<Vec<(Vec<&'a DamagedDataFile>, Remedy)>> {
    let mut remedies = Vec::new();
    for table in schema::tables()? {
        let damaged = found.iter().filter(|one| one.table.name == table.name);
        let damaged: Vec<&DamagedDataFile> = damaged.collect();
        let Some(snapshot) = store
            .snapshot(&table.name)
            .await?
            .filter(|_| !damaged.is_empty())
        else {
            continue;
        };
        let (mut sound, mut lost) = (Vec::new(), Vec::new());
        for one in damaged {
            if are_rows_sound(store, &snapshot, one).await? {
                sound.push(one);
            } else {
                lost.push(one);
            }
        }
        if !sound.is_empty() {
            remedies.push((sound, Remedy::Rows));
        }
        if !lost.is_empty() {
            let remedy = remedy_for_lost_rows(store, table, &snapshot, &lost).await?;
            remedies.push((lost, remedy));
        }
    }
    Ok(remedies)
}

/// Describes the number of rows in these files.
fn lost_rows(table: &Table, damaged: &[&DamagedDataFile]) -> String {
    let rows: u64 = damaged.iter().map(|one| one.file.stats.num_records).sum();
    format!("{rows} rows of {}", table.name)
}

async fn are_rows_sound(
    store: &Store,
    snapshot: &Snapshot,
    damaged: &DamagedDataFile,
) -> Result<bool> {
    let schema = damaged.table.file_schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let names: Vec<&str> = names.collect();
    match damaged
        .file
        .exists(store.location().objects(), &damaged.table.name)
        .await
    {
        Ok(false) => return Ok(false),
        Err(error) if error.is_damaged_file() => return Ok(false),
        exists => exists?,
    };
    let only = snapshot.with_files(vec![damaged.file.clone()]);
    match store.read(&damaged.table.name, &only, &names, None).await {
        Ok(rows) => {
            let rows: u64 = rows.iter().map(|batch| batch.num_rows() as u64).sum();
            Ok(rows == damaged.file.stats.num_records)
        }
        Err(error) if error.is_damaged_file() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the repair of files whose rows are lost.
async fn remedy_for_lost_rows(
    store: &Store,
    table: &Table,
    snapshot: &Snapshot,
    damaged: &[&DamagedDataFile],
) -> Result<Remedy> {
    let rows = lost_rows(table, damaged);
    let counted = FROM_FILES.iter().find(|(name, _)| *name == table.name);
    if counted.is_none() && !OF_SOURCES.contains(&table.name.as_str()) {
        let hint = format!("`tsql check --repair` removes it; {rows} are permanently lost");
        let lost = match table.name.as_str() {
            "retracted" => {
                format!("{rows}: their records are in results again after their files are ingested")
            }
            _ => rows,
        };
        let lost = Some(lost);
        return Ok(Remedy::Remove { hint, lost });
    }
    let sources = match counted {
        Some((_, counted)) => {
            sources_of_lost_rows(store, table, snapshot, damaged, counted).await?
        }
        None => None,
    };
    let hint = match sources {
        Some(sources) => outcome(&sources),
        None => "`tsql check --repair` removes it and the sources that need it, and names the \
            files to ingest again"
            .to_owned(),
    };
    // Names and labels are stored nowhere else.
    let lost = (table.name == "sources")
        .then(|| format!("{rows}: ingest their files again, with the labels that they had"));
    Ok(Remedy::Remove { hint, lost })
}

/// Returns the source files of lost rows. `None` if the ingest log does not identify them.
async fn sources_of_lost_rows(
    store: &Store,
    table: &Table,
    snapshot: &Snapshot,
    damaged: &[&DamagedDataFile],
    counted: &str,
) -> Result<Option<Vec<Source>>> {
    let rows: u64 = damaged.iter().map(|one| one.file.stats.num_records).sum();
    let is_damaged = |file: &DataFile| damaged.iter().any(|one| one.file.path == file.path);
    let others = snapshot.files().iter().filter(|file| !is_damaged(file));
    let others = snapshot.with_files(others.cloned().collect());
    match sources_with_missing_rows(store, table, &others, counted).await {
        Ok(sources) => {
            let of_sources: u64 = sources.iter().map(|source| source.rows).sum();
            Ok((of_sources == rows).then_some(sources))
        }
        // The ingest log or the table of retracted rows is unreadable as well.
        Err(error) if error.is_damaged_file() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Describes the effect of a repair that loses rows of these sources.
fn outcome(sources: &[Source]) -> String {
    let is_there = |source: &&Source| file_path(&source.path).is_some();
    let (there, gone): (Vec<&Source>, Vec<&Source>) = sources.iter().partition(is_there);
    let mut hint = "`tsql check --repair` removes it".to_owned();
    if !there.is_empty() {
        let paths = there.iter().map(|source| format!("`{}`", source.path));
        hint += &format!("; ingesting {} again restores its rows", join_first(paths));
    }
    if !gone.is_empty() {
        let rows: u64 = gone.iter().map(|source| source.rows).sum();
        let gone = gone
            .iter()
            .map(|source| format!("{} of `{}`", source.rows, source.path));
        let gone = join_first(gone);
        hint += &format!(
            "; {rows} rows are permanently lost, because their files do not exist: {gone}"
        );
    }
    hint
}

/// Returns the source files of which the ingest log counts more rows than `others` have.
async fn sources_with_missing_rows(
    store: &Store,
    table: &Table,
    others: &Snapshot,
    counted: &str,
) -> Result<Vec<Source>> {
    let mut left = count_rows_by_source(store, &table.name, others).await?;
    if let Some(retracted) = store.snapshot("retracted").await?
        && table.name == "records"
    {
        for (source, rows) in count_rows_by_source(store, "retracted", &retracted).await? {
            *left.entry(source).or_default() += rows;
        }
    }
    let mut sources: BTreeMap<i64, Source> = BTreeMap::new();
    let Some(ledger) = store.snapshot("sources").await? else {
        return Ok(Vec::new());
    };
    let columns = ["source_id", "path", counted];
    for batch in store.read("sources", &ledger, &columns, None).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let counts = column::numbers::<Int64Type>(&batch, counted)?;
        let paths = column::text(&batch, "path")?;
        for row in 0..batch.num_rows() {
            let source = sources.entry(ids.value(row)).or_insert_with(|| Source {
                path: paths.value(row).to_owned(),
                rows: 0,
            });
            source.rows += counts.value(row).unsigned_abs();
        }
    }
    let sources = sources.into_iter().map(|(id, source)| {
        let rows = source
            .rows
            .saturating_sub(left.get(&id).copied().unwrap_or(0));
        Source { rows, ..source }
    });
    Ok(sources.filter(|source| source.rows > 0).collect())
}

/// Returns the number of rows of a table per source.
async fn count_rows_by_source(
    store: &Store,
    table: &str,
    at: &Snapshot,
) -> Result<BTreeMap<i64, u64>> {
    let mut rows = BTreeMap::new();
    let counts = store
        .frame(table, at)?
        .aggregate(vec![col("source_id")], vec![count(lit(1_i64))])
        .map_err(Error::Query)?;
    for batch in counts.collect().await.map_err(Error::Query)? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let counts = batch.column(1).as_primitive::<Int64Type>().values();
        let counts = counts.iter().map(|count| count.unsigned_abs());
        rows.extend(ids.values().iter().copied().zip(counts));
    }
    Ok(rows)
}

/// Joins the first items, with the number of the others.
fn join_first(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(3);
    let names = all.take(3).collect::<Vec<_>>().join(", ");
    match more {
        0 => names,
        more => format!("{names} and {more} more files"),
    }
}

/// Removes a damaged file. `anew`: writes its rows to a new one.
async fn replace_file(store: &Store, damaged: &DamagedDataFile, anew: bool) -> Result<()> {
    let (table, old) = (&damaged.table.name, &damaged.file);
    let mut new = None;
    store
        .commit(
            table,
            "repair: damaged files",
            async |snapshot: &Snapshot| {
                if !snapshot.files().iter().any(|file| file.path == old.path) {
                    return Ok(None);
                }
                if anew && new.is_none() {
                    new = Some(store.rewrite_file(table, snapshot, old).await?);
                }
                Ok(Some(Change {
                    remove: vec![old.clone()],
                    add: new.iter().cloned().collect(),
                    rewrite: anew,
                    ..Change::default()
                }))
            },
        )
        .await
}
