//! `check`: verifies the invariants of a store, and lists possible repairs.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let checked = tsql_dataset::check::check(&store).await?;
//! assert!(checked.is_sound() && checked.sources > 0);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod damaged_files;
mod incomplete_sources;
mod reingest;
mod repair;
mod report;
mod runtimes;
mod sources;

pub use repair::repair;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_adapters::dedupe::Kernels;
use tsql_adapters::formats::all_formats;
use tsql_codecs::identity::{graph_id, source_id};
use tsql_codecs::steps::StepsHasher;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::{Reference, column};
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::{CORRECTIONS, RETRACTED, Store};

use crate::export::rebuild_all;
use crate::optimize::split_into_ranges;
use crate::upkeep::orphans::find_orphaned;

pub use repair::pending_repairs;

pub use report::{CheckReport, RepairItem};

/// Default memory limit of `check` in bytes, for keys and references.
const MEMORY_BYTES: usize = 1 << 30;

/// Hint for lost rows and dangling references.
const WAY_OUT: &str = "hint: `tsql check --repair` removes the incomplete sources";

/// Number of configurations that are compared at once.
const PORTION_ROWS: u64 = 1 << 19;

/// Options of a check.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    pub(crate) memory_limit_bytes: Option<usize>,
    pub(crate) progress: Option<CheckProgress>,
}

/// Progress callback: current item, done, total.
pub type CheckProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl CheckOptions {
    /// Sets the memory for groups, sorts and joins, in bytes (default 1 GiB). Larger data is spilled to temporary
    /// files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Sets the progress callback: current item, done, total (0 if unknown).
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }

    fn report_progress(&self, what: &str, done: u64, of: u64) {
        if let Some(progress) = &self.progress {
            progress(what, done, of);
        }
    }
}

/// Verifies the store: bytes of data files, pre-aggregates, runtimes as means of their repeats, unique keys,
/// references, hashes, and the byte-exact export of every source.
///
/// # Errors
/// Failures to read. Damage is not an error, but reported in [`CheckReport::damage`].
pub async fn check(store: &Store) -> Result<CheckReport> {
    check_with(store, &CheckOptions::default()).await
}

/// As [`check`], with limits and progress.
///
/// # Errors
/// As [`check`].
pub async fn check_with(store: &Store, options: &CheckOptions) -> Result<CheckReport> {
    let within = SessionOptions::default()
        .memory_limit_bytes(options.memory_limit_bytes.or(Some(MEMORY_BYTES)));
    let mut checked = CheckReport::default();
    options.report_progress("logs", 0, 0);
    check_logs(store, &mut checked).await?;
    if !checked.damage.is_empty() {
        // Rows cannot be read with a damaged log.
        return Ok(checked);
    }
    options.report_progress("bytes", 0, 0);
    let damaged = damaged_files::find_damaged(store, &mut checked).await?;
    if !damaged.is_empty() {
        // Other checks would report the same damage again.
        checked.damage = damaged_files::describe_damage(store, &damaged).await?;
        return Ok(checked);
    }
    let context = open_session_with(store, &within).await?;
    options.report_progress("keys", 0, 0);
    check_keys(&context, &mut checked).await?;
    options.report_progress("references", 0, 0);
    check_references(&context, &mut checked).await?;
    if !checked.damage.is_empty() {
        let sources = incomplete_sources::describe_incomplete(&context).await?;
        for (_, reason) in &mut checked.damage {
            *reason += &match &sources {
                Some(sources) => format!("\n{WAY_OUT}: {sources}"),
                None => format!("\n{WAY_OUT}"),
            };
        }
    }
    options.report_progress("hashes", 0, 0);
    check_ids(&context, &mut checked).await?;
    check_format_hashes(&context, &mut checked).await?;
    check_programs(&context, &mut checked).await?;
    options.report_progress("the ingest log", 0, 0);
    check_counts(&context, &mut checked).await?;
    check_corrections(&context, &mut checked).await?;
    options.report_progress("runtimes", 0, 0);
    runtimes::check_runtimes(&context, &mut checked).await?;
    let orphaned = find_orphaned(store).await?;
    for table in orphaned
        .iter()
        .map(|one| one.table)
        .collect::<BTreeSet<_>>()
    {
        let of_table = orphaned.iter().filter(|one| one.table == table);
        // Hidden rows are not damage: the next run over the file replaces them.
        if store.hidden_rows(table).await? != of_table.clone().map(|one| one.rows).sum::<u64>() {
            let told = of_table.map(|one| (one.table.to_owned(), one.describe()));
            checked.damage.extend(told);
        }
    }
    checked.repairs.extend(pending_repairs(store).await?);
    if checked.damage.is_empty() {
        let tell = |done, of| options.report_progress("sources", done, of);
        let rebuilt = rebuild_all(&context, tell).await?;
        checked.sources = rebuilt.files;
        checked.source_bytes = rebuilt.bytes;
        let damage = rebuilt.damaged.into_iter();
        checked.damage.extend(
            damage.map(|(name, reason)| ("sources".to_owned(), format!("{name}: {reason}"))),
        );
    }
    Ok(checked)
}

/// Checks the files of all logs.
async fn check_logs(store: &Store, checked: &mut CheckReport) -> Result<()> {
    let mut skipped = 0;
    for (table, damage) in store.log_damage().await? {
        if damage.is_harmless {
            skipped += 1;
            continue;
        }
        let hint = "hint: `tsql check --repair` restores the remaining data, and names the \
            files to ingest again";
        let reason = format!("{}\n{hint}", damage.what);
        checked.damage.push((table.to_owned(), reason));
    }
    checked.repairs.extend((skipped > 0).then_some(RepairItem {
        description: "log entries that were truncated before their commit was acknowledged",
        count: skipped,
        effect: "replaces them by empty entries, as the next writer does",
        is_damage: false,
        next_commands: Vec::new(),
        lost: Vec::new(),
    }));
    Ok(())
}

async fn count(context: &SessionContext, sql: &str) -> Result<u64> {
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    let batches = frame.collect().await.map_err(Error::Query)?;
    let first = batches.first().and_then(|batch| batch.columns().first());
    Ok(first
        .map_or(0, |column| {
            column
                .as_primitive::<Int64Type>()
                .values()
                .first()
                .copied()
                .unwrap_or(0)
        })
        .unsigned_abs())
}

async fn check_keys(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    for table in schema::tables()? {
        let key = table.key.join(", ");
        let sql = format!(
            "SELECT count(*) FROM (SELECT {key} FROM stored.{} GROUP BY {key} HAVING count(*) > 1)",
            table.name
        );
        let doubled = count(context, &sql).await?;
        if doubled > 0 {
            checked.damage.push((
                table.name.clone(),
                format!("{doubled} keys ({key}) occur more than once"),
            ));
        }
    }
    Ok(())
}

async fn check_references(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    for table in schema::tables()? {
        let name = &table.name;
        for Reference { columns, to } in table.references() {
            let on: Vec<String> = columns
                .iter()
                .map(|column| format!("a.{column} = b.{column}"))
                .collect();
            let present: Vec<String> = columns
                .iter()
                .map(|column| format!("{column} IS NOT NULL"))
                .collect();
            let (on, present) = (on.join(" AND "), present.join(" AND "));
            let columns = columns.join(", ");
            let sql = format!(
                "SELECT count(*) FROM (SELECT DISTINCT {columns} FROM stored.{name} WHERE {present}) AS a \
                 LEFT ANTI JOIN stored.{to} AS b ON {on}"
            );
            checked.references +=
                count(context, &format!("SELECT count(*) FROM stored.{name}")).await?;
            let dangling = count(context, &sql).await?;
            if dangling > 0 {
                let reason = format!("{dangling} values of ({columns}) are missing in {to}");
                checked.damage.push((name.clone(), reason));
            }
        }
    }
    let graphs = incomplete_sources::graphs_without_types(context)
        .await?
        .len();
    if graphs > 0 {
        let reason = format!("{graphs} graphs have nodes whose types are missing in node_types");
        checked.damage.push(("graphs".to_owned(), reason));
    }
    Ok(())
}

async fn check_ids(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    let mut wrong = |table: &str, id: i64| {
        checked
            .damage
            .push((table.to_owned(), format!("{id} is not the hash of its row")));
    };
    let mut hashes = 0;
    for (table, sql) in [
        (
            "graphs",
            "SELECT graph_id AS id, dataset, workload_key AS a, '' AS b FROM stored.graphs",
        ),
        (
            "sources",
            "SELECT source_id AS id, dataset, coalesce(first_platform, platform) AS a, name AS b FROM stored.sources",
        ),
    ] {
        for batch in collect(context, sql).await? {
            let ids = column::numbers::<Int64Type>(&batch, "id")?;
            let views = |name: &str| {
                let found = batch.column_by_name(name);
                let cast = found.and_then(|column| {
                    arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8View).ok()
                });
                cast.ok_or_else(|| Error::damaged(table, format!("no column {name}")))
            };
            let (datasets, a, b) = (views("dataset")?, views("a")?, views("b")?);
            let (datasets, a, b) = (
                datasets.as_string_view(),
                a.as_string_view(),
                b.as_string_view(),
            );
            for row in 0..batch.num_rows() {
                let expected = match table {
                    "graphs" => graph_id(datasets.value(row), a.value(row)),
                    _ => source_id(datasets.value(row), a.value(row), b.value(row)),
                };
                hashes += 1;
                if expected != ids.value(row) {
                    wrong(table, ids.value(row));
                }
            }
        }
    }
    checked.hashes += hashes;
    Ok(())
}

/// Checks the hashes that only the formats can compute.
async fn check_format_hashes(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    for room in all_formats() {
        let recomputed = room.recompute(context).await?;
        checked.hashes += recomputed.hashes;
        checked.damage.extend(recomputed.wrong);
    }
    Ok(())
}

/// Checks that no graph has the same program under two ids. Processes graphs in ranges, because sorting all
/// configurations of a large store needs too much memory.
async fn check_programs(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    let sql = "SELECT graph_id, count(*) AS rows FROM stored.configurations GROUP BY graph_id ORDER BY graph_id";
    let mut counted = Vec::new();
    for batch in collect(context, sql).await? {
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?.values();
        let rows = column::numbers::<Int64Type>(&batch, "rows")?.values();
        let rows = rows.iter().map(|rows| rows.unsigned_abs());
        counted.extend(graphs.iter().copied().zip(rows));
    }
    let mut broken = HashSet::new();
    for (least, greatest) in split_into_ranges(counted, PORTION_ROWS)
        .into_iter()
        .filter_map(|range| range.between)
    {
        let sql = format!(
            "SELECT graph_id, config_id, sketch, params, program, build FROM stored.configurations \
             WHERE graph_id BETWEEN {least} AND {greatest} ORDER BY graph_id"
        );
        let frame = context.sql(&sql).await.map_err(Error::Query)?;
        let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
        let (mut graph, mut seen, mut hasher) = (None, HashMap::new(), StepsHasher::default());
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let numbers = column::numbers::<Int64Type>(&batch, "config_id")?;
            let (sketches, params) = (
                column::text(&batch, "sketch")?,
                column::bytes(&batch, "params")?,
            );
            let kernels = Kernels::from_batch(&batch)?;
            for row in 0..batch.num_rows() {
                if graph != Some(graphs.value(row)) {
                    graph = Some(graphs.value(row));
                    seen.clear();
                }
                let number = numbers.value(row);
                let program = hasher.hash(sketches.value(row), column::bytes_at(params, row));
                match program.map(|program| seen.insert(kernels.hash(row, program), number)) {
                    None => {
                        broken.insert(format!("{number}: its parameters do not fit its sketch"))
                    }
                    Some(Some(other)) => {
                        broken.insert(format!("{number} and {other} are the same program"))
                    }
                    Some(None) => false,
                };
                checked.hashes += 1;
            }
        }
    }
    checked.damage.extend(
        broken
            .into_iter()
            .map(|reason| ("configurations".to_owned(), reason)),
    );
    Ok(())
}

/// Checks that the counts in the ingest log match the tables, including retracted rows.
async fn check_counts(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    for (table, rows_of, column) in [
        ("records", "all_records", "record_count"),
        ("lines", "lines", "other_count"),
    ] {
        let rows = count(context, &format!("SELECT count(*) FROM stored.{rows_of}")).await?;
        let sql = format!("SELECT CAST(coalesce(sum({column}), 0) AS BIGINT) FROM stored.sources");
        let ledger = count(context, &sql).await?;
        if rows != ledger {
            let what = match rows > ledger {
                true => "an ingest was interrupted\nhint: ingest the same files again".to_owned(),
                false => format!("rows are lost\n{WAY_OUT}"),
            };
            let reason =
                format!("{rows} rows, expected {ledger} as counted in the ingest log: {what}");
            checked.damage.push((table.to_owned(), reason));
        }
    }
    let lost = incomplete_sources::sources_with_lost_lines(context).await?;
    if !lost.is_empty() {
        let what = format!(
            "{} sources have fewer rows than lines: rows are lost\n{WAY_OUT}",
            lost.len()
        );
        checked.damage.push(("sources".to_owned(), what));
    }
    Ok(())
}

/// Checks that no correction is unfinished, and that no row is both retracted and present.
async fn check_corrections(context: &SessionContext, checked: &mut CheckReport) -> Result<()> {
    let sql = "SELECT kind, author, predicate FROM corrections WHERE finished_at IS NULL";
    for batch in collect(context, sql).await? {
        let text = |name| column::text(&batch, name);
        let (kinds, authors, predicates) = (text("kind")?, text("author")?, text("predicate")?);
        for row in 0..batch.num_rows() {
            let reason = format!(
                "`tsql {} --where \"{}\"` by {} is running or was interrupted\n\
                 hint: run the same command again to finish it",
                kinds.value(row),
                predicates.value(row),
                authors.value(row)
            );
            checked.damage.push((CORRECTIONS.to_owned(), reason));
        }
    }
    for (table, kept) in RETRACTED {
        let sql = format!(
            "SELECT count(*) FROM stored.{kept} AS k LEFT SEMI JOIN stored.{table} AS r \
             ON k.source_id = r.source_id AND k.line = r.line"
        );
        let both = count(context, &sql).await?;
        if both > 0 {
            let reason = format!("{both} rows are also in {table}");
            checked.damage.push((kept.to_owned(), reason));
        }
    }
    Ok(())
}
