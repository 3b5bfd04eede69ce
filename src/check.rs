//! `check`: is the store what it promises to be? What can be repaired where it is not?
//!
//! ```
//! use tsql::Store;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let checked = store.check().await?;
//! assert!(checked.is_sound() && checked.sources > 0);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod checked;
mod damaged;
mod incomplete;
mod mend;
mod reingest;
mod runtimes;
mod sources;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_codecs::identity::{graph_id, source_id};
use tsql_codecs::steps::Hasher;

use crate::column;
use crate::dedupe::Kernels;
use crate::error::{Error, Result};
use crate::formats::rooms;
use crate::optimize::ranges;
use crate::query::{SessionOptions, collect};
use crate::schema::{self, Reference};
use crate::store::{CORRECTIONS, RETRACTED, Store};
pub use checked::{Checked, Mendable};

/// Memory that `check` takes for keys and references, unless it is told otherwise.
const MEMORY_BYTES: usize = 1 << 30;

/// The way out of rows that are lost, or refer to lost ones.
const WAY_OUT: &str = "hint: `tsql check --repair` takes out the sources that are incomplete";

/// Configurations that are compared at once.
const PORTION_ROWS: u64 = 1 << 19;

/// How to check.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    pub(crate) memory_limit_bytes: Option<usize>,
    pub(crate) progress: Option<CheckProgress>,
}

/// Is told what is looked at, how much of it was, how much there is.
pub type CheckProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl CheckOptions {
    /// Memory for groups, sorts and joins, in bytes (1 GiB unless it is set); what does not fit goes to
    /// temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Told now and then: what is looked at, how much of it was, how much there is (0 where nobody knows).
    #[must_use]
    pub fn progress(mut self, told: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }

    fn tell(&self, what: &str, done: u64, of: u64) {
        if let Some(progress) = &self.progress {
            progress(what, done, of);
        }
    }
}

impl Store {
    /// Checks that every data file has the bytes that were written, sums are those of their rows, runtimes
    /// the means of their repeats; that keys are unique, every reference resolves, every hash computes
    /// again, and every source can be given back byte for byte.
    ///
    /// # Errors
    /// Failures to read at all; damage is no error but reported in [`Checked::damage`].
    pub async fn check(&self) -> Result<Checked> {
        self.check_with(&CheckOptions::default()).await
    }

    /// As [`Store::check`], within limits, and telling how far it is.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn check_with(&self, options: &CheckOptions) -> Result<Checked> {
        let within = SessionOptions {
            memory_limit_bytes: options.memory_limit_bytes.or(Some(MEMORY_BYTES)),
            ..SessionOptions::default()
        };
        let mut checked = Checked::default();
        options.tell("logs", 0, 0);
        self.check_logs(&mut checked).await?;
        if !checked.damage.is_empty() {
            // Rows are read by what logs say.
            return Ok(checked);
        }
        options.tell("bytes", 0, 0);
        let damaged = damaged::find(self, &mut checked).await?;
        if !damaged.is_empty() {
            // Whatever else is asked would say so again.
            checked.damage = damaged::told(self, &damaged).await?;
            return Ok(checked);
        }
        let context = self.session_with(&within).await?;
        options.tell("keys", 0, 0);
        keys(&context, &mut checked).await?;
        options.tell("references", 0, 0);
        references(&context, &mut checked).await?;
        if !checked.damage.is_empty() {
            let sources = incomplete::described(&context).await?;
            for (_, reason) in &mut checked.damage {
                *reason += &match &sources {
                    Some(sources) => format!("\n{WAY_OUT}: {sources}"),
                    None => format!("\n{WAY_OUT}"),
                };
            }
        }
        options.tell("hashes", 0, 0);
        identities(&context, &mut checked).await?;
        recomputed(&context, &mut checked).await?;
        programs(&context, &mut checked).await?;
        options.tell("the ledger", 0, 0);
        counts(&context, &mut checked).await?;
        corrections(&context, &mut checked).await?;
        options.tell("runtimes", 0, 0);
        runtimes::runtimes(&context, &mut checked).await?;
        let orphaned = self.orphaned().await?;
        for table in orphaned
            .iter()
            .map(|one| one.table)
            .collect::<BTreeSet<_>>()
        {
            let of_table = orphaned.iter().filter(|one| one.table == table);
            // What is in no answer is no damage: the next run over the file replaces it.
            if self.hidden_rows(table).await? != of_table.clone().map(|one| one.rows).sum::<u64>() {
                let told = of_table.map(|one| (one.table.to_owned(), one.told()));
                checked.damage.extend(told);
            }
        }
        checked.mendable.extend(self.mendable().await?);
        if checked.damage.is_empty() {
            let tell = |done, of| options.tell("sources", done, of);
            let rebuilt = self.rebuild_all(&context, tell).await?;
            checked.sources = rebuilt.files;
            checked.source_bytes = rebuilt.bytes;
            let damage = rebuilt.damaged.into_iter();
            checked.damage.extend(
                damage.map(|(name, reason)| ("sources".to_owned(), format!("{name}: {reason}"))),
            );
        }
        Ok(checked)
    }

    /// Looks at the files of all logs.
    async fn check_logs(&self, checked: &mut Checked) -> Result<()> {
        let mut skipped = 0;
        for (table, damage) in self.damage_of_logs().await? {
            if damage.is_harmless {
                skipped += 1;
                continue;
            }
            let hint = "hint: `tsql check --repair` restores what is left, and names the files to ingest again";
            let reason = format!("{}\n{hint}", damage.what);
            checked.damage.push((table.to_owned(), reason));
        }
        checked.mendable.extend((skipped > 0).then_some(Mendable {
            found: "log entries that were cut off before they were acknowledged",
            count: skipped,
            does: "puts entries in their place that change nothing, as the next writer does",
            is_damage: false,
            then: Vec::new(),
            lost: Vec::new(),
        }));
        Ok(())
    }
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

async fn keys(context: &SessionContext, checked: &mut Checked) -> Result<()> {
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
                format!("{doubled} keys ({key}) stand more than once"),
            ));
        }
    }
    Ok(())
}

async fn references(context: &SessionContext, checked: &mut Checked) -> Result<()> {
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
                let reason = format!("{dangling} values of ({columns}) are not in {to}");
                checked.damage.push((name.clone(), reason));
            }
        }
    }
    let graphs = incomplete::without_types(context).await?.len();
    if graphs > 0 {
        let reason = format!("{graphs} graphs have nodes whose types are not in node_types");
        checked.damage.push(("graphs".to_owned(), reason));
    }
    Ok(())
}

async fn identities(context: &SessionContext, checked: &mut Checked) -> Result<()> {
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

/// The hashes that only the rooms of formats know how to compute.
async fn recomputed(context: &SessionContext, checked: &mut Checked) -> Result<()> {
    for room in rooms() {
        let recomputed = room.recompute(context).await?;
        checked.hashes += recomputed.hashes;
        checked.damage.extend(recomputed.wrong);
    }
    Ok(())
}

/// No graph has the same program under two numbers. Some graphs after the other: to sort all of a large store's configurations takes
/// more memory than there is.
async fn programs(context: &SessionContext, checked: &mut Checked) -> Result<()> {
    let sql = "SELECT graph_id, count(*) AS rows FROM stored.configurations GROUP BY graph_id ORDER BY graph_id";
    let mut counted = Vec::new();
    for batch in collect(context, sql).await? {
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?.values();
        let rows = column::numbers::<Int64Type>(&batch, "rows")?.values();
        let rows = rows.iter().map(|rows| rows.unsigned_abs());
        counted.extend(graphs.iter().copied().zip(rows));
    }
    let mut broken = HashSet::new();
    for (least, greatest) in ranges(counted, PORTION_ROWS)
        .into_iter()
        .filter_map(|range| range.between)
    {
        let sql = format!(
            "SELECT graph_id, config_id, sketch, params, program, build FROM stored.configurations \
             WHERE graph_id BETWEEN {least} AND {greatest} ORDER BY graph_id"
        );
        let frame = context.sql(&sql).await.map_err(Error::Query)?;
        let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
        let (mut graph, mut seen, mut hasher) = (None, HashMap::new(), Hasher::default());
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let numbers = column::numbers::<Int64Type>(&batch, "config_id")?;
            let (sketches, params) = (
                column::text(&batch, "sketch")?,
                column::bytes(&batch, "params")?,
            );
            let kernels = Kernels::of(&batch)?;
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

/// The ledger's counts are the tables' counts, with what was retracted.
async fn counts(context: &SessionContext, checked: &mut Checked) -> Result<()> {
    for (table, rows_of, column) in [
        ("records", "all_records", "record_count"),
        ("lines", "lines", "other_count"),
    ] {
        let rows = count(context, &format!("SELECT count(*) FROM stored.{rows_of}")).await?;
        let sql = format!("SELECT CAST(coalesce(sum({column}), 0) AS BIGINT) FROM stored.sources");
        let ledger = count(context, &sql).await?;
        if rows != ledger {
            let what = match rows > ledger {
                true => "a run was interrupted\nhint: ingest the same files again".to_owned(),
                false => format!("rows are lost\n{WAY_OUT}"),
            };
            let reason = format!("{rows} rows, but the ledger says {ledger}: {what}");
            checked.damage.push((table.to_owned(), reason));
        }
    }
    Ok(())
}

/// No correction was broken off, and no row is both retracted and there.
async fn corrections(context: &SessionContext, checked: &mut Checked) -> Result<()> {
    let sql = "SELECT kind, who, predicate FROM corrections WHERE done_at IS NULL";
    for batch in collect(context, sql).await? {
        let text = |name| column::text(&batch, name);
        let (kinds, who, predicates) = (text("kind")?, text("who")?, text("predicate")?);
        for row in 0..batch.num_rows() {
            let reason = format!(
                "`tsql {} --where \"{}\"` of {} is at work, or was broken off\nhint: the same command again finishes it",
                kinds.value(row),
                predicates.value(row),
                who.value(row)
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
            let reason = format!("{both} rows are in {table} as well");
            checked.damage.push((kept.to_owned(), reason));
        }
    }
    Ok(())
}
