//! Damaged data files, and what is left that they can be made from.
//!
//! - Where the rows are sound and the sums are not, the file is written anew from its rows.
//! - Where records or lines are lost, and all the files that they came from are still there, these are taken out
//!   of the ledger with the damaged file: to ingest them again completes them, as after an
//!   interrupted run.
//! - Otherwise nothing is touched, and what is lost is said.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{col, lit};

use super::checked::{Checked, Mendable};
use super::incomplete::command;
use crate::column;
use crate::error::{Error, Result};
use crate::schema::{self, Table};
use crate::store::file::DataFile;
use crate::store::{Change, Snapshot, Store};

/// Tables whose rows can be made from files again, and where the ledger counts them.
const FROM_FILES: [(&str, &str); 2] = [("records", "record_count"), ("lines", "other_count")];

/// Other tables whose rows are made from files.
const OF_SOURCES: [&str; 12] = [
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
    "sources",
];

/// A data file that is damaged.
pub(super) struct Damaged {
    table: &'static Table,
    file: DataFile,
    reason: String,
}

/// What can be done about the damaged files of a table.
enum Remedy {
    /// They are written anew from their rows.
    Rows,
    /// They are taken away, and these files ingested again.
    Ingest(Vec<Source>),
    /// They are taken away; sources that are incomplete then are found by their rows. What is lost for good.
    Away(Option<String>),
    /// Nothing: what is lost.
    Lost(String),
}

/// A file that rows came from.
struct Source {
    source_id: i64,
    /// As it was given.
    path: String,
    dataset: String,
    platform: String,
    /// The rows of it that are lost.
    rows: u64,
    /// Rows of it that are kept elsewhere.
    retracted: u64,
}

impl Source {
    /// How it is ingested again.
    fn command(&self) -> String {
        command(&self.path, &self.dataset, &self.platform)
    }
}

/// Reads all data files, and their sums where their bytes are sound.
pub(super) async fn find(store: &Store, checked: &mut Checked) -> Result<Vec<Damaged>> {
    let mut found = Vec::new();
    for table in schema::tables()? {
        let Some(snapshot) = store.snapshot(&table.name).await? else {
            continue;
        };
        for file in snapshot.files().iter() {
            checked.files += 1;
            checked.file_bytes += file.size_bytes;
            checked.without_checksums += u64::from(file.checksums.is_none());
            let mut damage = store.damage_of_bytes(table, file).await?;
            if damage.is_none() {
                damage = store.damage_of_sums(table, &snapshot, file).await?;
            }
            found.extend(damage.map(|reason| Damaged {
                table,
                file: file.clone(),
                reason,
            }));
        }
    }
    Ok(found)
}

/// The damage in words, with what can be done about it.
pub(super) async fn told(store: &Store, found: &[Damaged]) -> Result<Vec<(String, String)>> {
    let mut told = Vec::new();
    for (damaged, remedy) in remedies(store, found).await? {
        let hint = match &remedy {
            Remedy::Rows => "`tsql check --repair` writes it anew from its rows".to_owned(),
            Remedy::Ingest(sources) => format!(
                "`tsql check --repair` takes it away; to ingest {} again restores its rows",
                listed(sources)
            ),
            Remedy::Away(_) => "`tsql check --repair` takes it away with the sources that need it, and names those to \
                                ingest again"
                .to_owned(),
            Remedy::Lost(lost) => lost.clone(),
        };
        for damaged in damaged {
            let reason = format!("{}\nhint: {hint}", damaged.reason);
            told.push((damaged.table.name.clone(), reason));
        }
    }
    Ok(told)
}

/// Does about damaged files what can be done; says what it was.
pub(super) async fn mend(store: &Store) -> Result<Option<Mendable>> {
    let found = find(store, &mut Checked::default()).await?;
    let mut done = Mendable {
        found: "damaged data files",
        count: 0,
        does: "writes them anew from their rows, or takes them away where files can be ingested again",
        is_damage: true,
        then: Vec::new(),
        lost: Vec::new(),
    };
    for (damaged, remedy) in remedies(store, &found).await? {
        match remedy {
            Remedy::Rows => {
                for damaged in &damaged {
                    replace(store, damaged, true).await?;
                }
            }
            Remedy::Ingest(sources) => {
                // First the ledger: broken off after it, these are rows of an interrupted run.
                take_out(store, &sources).await?;
                for damaged in &damaged {
                    replace(store, damaged, false).await?;
                }
                done.then.extend(sources.iter().map(Source::command));
            }
            Remedy::Away(lost) => {
                for damaged in &damaged {
                    replace(store, damaged, false).await?;
                }
                done.lost.extend(lost);
            }
            Remedy::Lost(_) => continue,
        }
        done.count += damaged.len() as u64;
    }
    Ok((done.count > 0).then_some(done))
}

/// The damaged files of each table by what can be done about them.
async fn remedies<'a>(
    store: &Store,
    found: &'a [Damaged],
) -> Result<Vec<(Vec<&'a Damaged>, Remedy)>> {
    let mut remedies = Vec::new();
    for table in schema::tables()? {
        let damaged = found.iter().filter(|one| one.table.name == table.name);
        let damaged: Vec<&Damaged> = damaged.collect();
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
            let remedy = match of_lost(store, table, &snapshot, &lost).await? {
                // Nothing is left that somebody could read.
                Remedy::Lost(_) if are_gone(store, &lost).await? => {
                    let counted = FROM_FILES.iter().any(|(name, _)| *name == table.name);
                    Remedy::Away((!counted).then(|| lost_rows(table, &lost)))
                }
                remedy => remedy,
            };
            remedies.push((lost, remedy));
        }
    }
    Ok(remedies)
}

/// Are all of these files missing?
async fn are_gone(store: &Store, damaged: &[&Damaged]) -> Result<bool> {
    for one in damaged {
        let objects = store.location().objects();
        if one.file.exists(objects, &one.table.name).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How many rows were in these files, in words.
fn lost_rows(table: &Table, damaged: &[&Damaged]) -> String {
    let rows: u64 = damaged.iter().map(|one| one.file.stats.num_records).sum();
    format!("{rows} rows of {}", table.name)
}

async fn are_rows_sound(store: &Store, snapshot: &Snapshot, damaged: &Damaged) -> Result<bool> {
    let schema = damaged.table.file_schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let names: Vec<&str> = names.collect();
    if !damaged
        .file
        .exists(store.location().objects(), &damaged.table.name)
        .await?
    {
        return Ok(false);
    }
    let only = snapshot.only(vec![damaged.file.clone()]);
    match store.read(&damaged.table.name, &only, &names, None).await {
        Ok(rows) => {
            let rows: u64 = rows.iter().map(|batch| batch.num_rows() as u64).sum();
            Ok(rows == damaged.file.stats.num_records)
        }
        Err(error) if error.is_damaged_file() => Ok(false),
        Err(error) => Err(error),
    }
}

/// What can be done where rows are lost.
async fn of_lost(
    store: &Store,
    table: &Table,
    snapshot: &Snapshot,
    damaged: &[&Damaged],
) -> Result<Remedy> {
    let rows: u64 = damaged.iter().map(|one| one.file.stats.num_records).sum();
    let counted = FROM_FILES.iter().find(|(name, _)| *name == table.name);
    let Some((_, counted)) = counted else {
        return Ok(match OF_SOURCES.contains(&table.name.as_str()) {
            true => Remedy::Away(None),
            false => Remedy::Lost(format!("{} are lost", lost_rows(table, damaged))),
        });
    };
    let lost = |reason: &str| Remedy::Lost(format!("{rows} rows are lost: {reason}"));
    let is_damaged = |file: &DataFile| damaged.iter().any(|one| one.file.path == file.path);
    let others = snapshot.files().iter().filter(|file| !is_damaged(file));
    let others = snapshot.only(others.cloned().collect());
    let sources = match affected(store, table, &others, counted).await {
        Ok(sources) => sources,
        Err(error) if error.is_damaged_file() => {
            return Ok(lost("the ledger cannot be read either"));
        }
        Err(error) => return Err(error),
    };
    if sources.iter().map(|source| source.rows).sum::<u64>() != rows {
        return Ok(lost("the ledger does not say of which files"));
    }
    // Ingested again, what was retracted would be there twice.
    if sources.iter().any(|source| source.retracted > 0) {
        return Ok(lost(
            "records of their files were retracted\nhint: `tsql restore --all`, then check again",
        ));
    }
    let gone = sources
        .iter()
        .filter(|source| !Path::new(&source.path).is_file());
    let gone: Vec<&Source> = gone.collect();
    if gone.is_empty() {
        return Ok(Remedy::Ingest(sources));
    }
    let gone = gone
        .iter()
        .map(|source| format!("{} of `{}`", source.rows, source.path));
    let gone = gone.take(5).collect::<Vec<_>>().join(", ");
    Ok(lost(&format!("{gone}, which is not there any more")))
}

/// The files of which the ledger counts more rows than `others` have.
async fn affected(
    store: &Store,
    table: &Table,
    others: &Snapshot,
    counted: &str,
) -> Result<Vec<Source>> {
    let left = by_source(store, &table.name, others).await?;
    let retracted = match store.snapshot("retracted").await? {
        Some(retracted) if table.name == "records" => {
            by_source(store, "retracted", &retracted).await?
        }
        _ => BTreeMap::new(),
    };
    let mut sources: BTreeMap<i64, Source> = BTreeMap::new();
    let Some(ledger) = store.snapshot("sources").await? else {
        return Ok(Vec::new());
    };
    let columns = ["source_id", "path", "dataset", "platform", counted];
    for batch in store.read("sources", &ledger, &columns, None).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let counts = column::numbers::<Int64Type>(&batch, counted)?;
        let text = |name| column::text(&batch, name);
        let (paths, datasets, platforms) = (text("path")?, text("dataset")?, text("platform")?);
        for row in 0..batch.num_rows() {
            let source = sources.entry(ids.value(row)).or_insert_with(|| Source {
                source_id: ids.value(row),
                path: paths.value(row).to_owned(),
                dataset: datasets.value(row).to_owned(),
                platform: platforms.value(row).to_owned(),
                rows: 0,
                retracted: retracted.get(&ids.value(row)).copied().unwrap_or(0),
            });
            source.rows += counts.value(row).unsigned_abs();
        }
    }
    let sources = sources.into_values().map(|source| {
        let left = left.get(&source.source_id).copied().unwrap_or(0);
        let rows = source.rows.saturating_sub(left + source.retracted);
        Source { rows, ..source }
    });
    Ok(sources.filter(|source| source.rows > 0).collect())
}

/// How many rows of a table each source has.
async fn by_source(store: &Store, table: &str, at: &Snapshot) -> Result<BTreeMap<i64, u64>> {
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

/// Some of the files by name.
fn listed(sources: &[Source]) -> String {
    let names = sources
        .iter()
        .take(3)
        .map(|source| format!("`{}`", source.path));
    let names = names.collect::<Vec<_>>().join(", ");
    match sources.len().saturating_sub(3) {
        0 => names,
        more => format!("{names} and {more} more files"),
    }
}

/// Takes a damaged file away; its rows come as a new one, or are gone.
async fn replace(store: &Store, damaged: &Damaged, anew: bool) -> Result<()> {
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
                    new = Some(store.anew(table, snapshot, old).await?);
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

async fn take_out(store: &Store, sources: &[Source]) -> Result<()> {
    let ids = || sources.iter().map(|source| lit(source.source_id)).collect();
    let named = async |_: &Snapshot| {
        let among = col("source_id").in_list(ids(), false);
        Ok(Some(among.or(col("same_as").in_list(ids(), false))))
    };
    store
        .take_out("sources", "repair: damaged files", named)
        .await?;
    Ok(())
}
