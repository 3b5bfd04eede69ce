//! How much leaks between the parts of a split, level by level.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use serde::Serialize;

use super::cuts::integers;
use super::leaks::{Counted, Counts, Leaks, counted};
use super::level::LeakLevel;
use super::listed::{call, of_definitions, parts_of};
use super::scope::Scope;
use super::session::session;
use super::split::{PartCount, Split};
use crate::error::{Error, Result};
use crate::query::splits::{Definition, find, labels_of_graphs, task_key};
use crate::query::{SplitUnit, collect};
use crate::store::Store;

/// What leaks between the parts of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SplitLeaks {
    /// The split.
    pub split: Split,
    /// Its parts, of the rows that it is about.
    pub parts: Vec<PartCount>,
    /// What leaks at each level.
    pub levels: Vec<Leaks>,
}

impl SplitLeaks {
    /// Does nothing leak at the levels at which nothing is to leak?
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let mut levels = self.levels.iter();
        !levels.any(|leaks| leaks.is_declared && leaks.any())
    }
}

impl Store {
    /// Counts what leaks between the parts of a split, of the rows that it is about. Nothing is to leak up to `level`; unless it is
    /// given at those levels that follow from the split's unit.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is no such split, and failures of the storage.
    pub async fn check_split(&self, name: &str, level: Option<LeakLevel>) -> Result<SplitLeaks> {
        let split = find(&of_definitions(self).await?, name).await?;
        let context = session(self, &[split.query.as_deref()]).await?;
        let declared = level.map_or_else(|| LeakLevel::of_unit(split.unit), LeakLevel::up_to);
        let columns = ["graph_id", "config_id", "environment_id", "platform"];
        let columns: Vec<&str> = columns
            .iter()
            .chain(split.unit.columns())
            .copied()
            .collect();
        let scope = Scope::of(&context, split.query.as_deref(), &columns).await?;
        let parts = parts_of(&scope, &split).await?;
        let of_part = |part: &str| {
            let mut own = parts.iter();
            let own = own.find(|one| one.part.as_deref() == Some(part));
            own.map_or(0, |part| part.record_count)
        };
        let held_out = of_part("valid") + of_part("test");
        let graphs = of_graphs(&context, &scope, &split).await?;
        let mut levels = Vec::new();
        for level in LeakLevel::ALL {
            let found = match level {
                LeakLevel::L0 => of_configurations(&scope, &split, "config_id, platform").await?,
                LeakLevel::L1 => of_configurations(&scope, &split, "config_id").await?,
                LeakLevel::L2 => counted(&graphs.by(|row| BTreeSet::from([row.task.clone()]))),
                LeakLevel::L3 => {
                    let labels = labels(&context, SplitUnit::Structure).await?;
                    counted(&graphs.by(|row| labels.get(&row.graph).cloned().unwrap_or_default()))
                }
                LeakLevel::L4 => of_sketches(&scope, &split).await?,
                LeakLevel::L5 => {
                    let labels = labels(&context, SplitUnit::Network).await?;
                    counted(&graphs.by(|row| labels.get(&row.graph).cloned().unwrap_or_default()))
                }
            };
            levels.push(Leaks {
                level,
                shared: level.shared(),
                unit_count: found.units,
                leaking_unit_count: found.leaking_units,
                held_out_record_count: held_out,
                leaking_record_count: found.leaking_records,
                is_declared: declared.contains(&level),
            });
        }
        Ok(SplitLeaks {
            split: Split::of(&split),
            parts,
            levels,
        })
    }
}

/// The keys of graphs, DAGs among their structures.
async fn labels(
    context: &SessionContext,
    unit: SplitUnit,
) -> Result<BTreeMap<i64, BTreeSet<String>>> {
    let labels = labels_of_graphs(context, unit).await?;
    let labels = labels.into_iter().map(|(graph, labels)| {
        let keys = labels.into_iter().map(|label| label.key);
        (graph, keys.collect())
    });
    Ok(labels.collect())
}

/// Records of a graph in an environment.
struct Row {
    graph: i64,
    task: String,
    counts: Counts,
}

struct Rows(Vec<Row>);

impl Rows {
    fn by(&self, units: impl Fn(&Row) -> BTreeSet<String>) -> Vec<(BTreeSet<String>, Counts)> {
        self.0.iter().map(|row| (units(row), row.counts)).collect()
    }
}

/// Counts of the parts as columns of SQL.
const IN_PARTS: &str = "count(*) FILTER (WHERE part = 'train') AS a, count(*) FILTER (WHERE part = 'valid') AS b, \
    count(*) FILTER (WHERE part = 'test') AS c";

async fn of_graphs(
    context: &SessionContext,
    scope: &Scope<'_>,
    split: &Definition,
) -> Result<Rows> {
    let part = call(split);
    let sql = format!(
        "SELECT graph_id, environment_id, {IN_PARTS} FROM (SELECT graph_id, environment_id, {part} AS part FROM $rows) \
         WHERE part IS NOT NULL GROUP BY graph_id, environment_id ORDER BY graph_id, environment_id"
    );
    let (mut workloads, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for (sql, known) in [
        ("SELECT graph_id, workload_key FROM graphs", &mut workloads),
        (
            "SELECT environment_id, target_kind FROM environments",
            &mut kinds,
        ),
    ] {
        for batch in collect(context, sql).await? {
            let texts = cast(batch.column(1), &DataType::Utf8View);
            let texts = texts.map_err(|error| Error::Query(error.into()))?;
            let texts = texts.as_string_view().iter();
            let texts = texts.map(|text| text.unwrap_or_default().to_owned());
            known.extend(integers(&batch, 0)?.into_iter().zip(texts));
        }
    }
    let mut rows = Vec::new();
    for batch in scope.ask(&sql).await? {
        let ids = integers(&batch, 0)?.into_iter().zip(integers(&batch, 1)?);
        let counts = counts(&batch, 2)?;
        for ((graph, environment), counts) in ids.zip(counts) {
            let workload = workloads.get(&graph).map_or("", String::as_str);
            let kind = kinds.get(&environment).map_or("", String::as_str);
            rows.push(Row {
                graph,
                task: task_key(workload, kind),
                counts,
            });
        }
    }
    Ok(Rows(rows))
}

fn counts(batch: &arrow::array::RecordBatch, first: usize) -> Result<Vec<Counts>> {
    let column = |place| integers(batch, first + place);
    let columns = column(0)?.into_iter().zip(column(1)?).zip(column(2)?);
    let counts = columns.map(|((a, b), c)| [a, b, c].map(|count| count.unsigned_abs()));
    Ok(counts.collect())
}

/// What leaks, where each row of a query has the records of one unit in each part.
const LEAKS: &str = "SELECT count(*) AS units, \
    count(*) FILTER (WHERE (a > 0 AND b + c > 0) OR (b > 0 AND c > 0)) AS leaking_units, \
    coalesce(CAST(sum(CASE WHEN a > 0 THEN b + c WHEN b > 0 THEN c ELSE 0 END) AS BIGINT), 0) AS leaking_records";

async fn of_configurations(
    scope: &Scope<'_>,
    split: &Definition,
    columns: &str,
) -> Result<Counted> {
    let part = call(split);
    let sql = format!(
        "{LEAKS} FROM (SELECT {columns}, {IN_PARTS} FROM (SELECT {columns}, {part} AS part FROM $rows) \
         WHERE part IS NOT NULL GROUP BY {columns})"
    );
    asked(scope, &sql).await
}

/// Sketches are the same where they read the same, whatever graph they are of.
async fn of_sketches(scope: &Scope<'_>, split: &Definition) -> Result<Counted> {
    let part = call(split);
    let sql = format!(
        "{LEAKS} FROM (SELECT k.sketch, CAST(sum(p.a) AS BIGINT) AS a, CAST(sum(p.b) AS BIGINT) AS b, CAST(sum(p.c) AS BIGINT) AS c \
         FROM (SELECT config_id, {IN_PARTS} FROM (SELECT config_id, {part} AS part FROM $rows) WHERE part IS NOT NULL \
         GROUP BY config_id) AS p JOIN (SELECT config_id, xxh3_64(sketch) AS sketch FROM configurations) AS k \
         ON k.config_id = p.config_id GROUP BY k.sketch)"
    );
    asked(scope, &sql).await
}

async fn asked(scope: &Scope<'_>, sql: &str) -> Result<Counted> {
    let mut found = Counted::default();
    for batch in scope.ask(sql).await? {
        let column = |place| integers(&batch, place);
        let rows = column(0)?.into_iter().zip(column(1)?).zip(column(2)?);
        for ((units, leaking_units), leaking_records) in rows {
            found = Counted {
                units: units.unsigned_abs(),
                leaking_units: leaking_units.unsigned_abs(),
                leaking_records: leaking_records.unsigned_abs(),
            };
        }
    }
    Ok(found)
}
