//! Counts leaks between the parts of a split, level by level.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use serde::Serialize;
use tsql_dialect::collect;
use tsql_dialect::splits::{SplitDefinition, find_definition, labels_of_graphs, task_key};
use tsql_error::{Error, Result};
use tsql_session::SplitUnit;
use tsql_store::Store;

use super::catalog::{count_parts, definitions_session, split_call};
use super::cuts::integers;
use super::leaks::{Counts, LeakCounts, Leaks, count_leaks};
use super::level::LeakLevel;
use super::part_count::PartCount;
use super::scope::Scope;
use super::session::split_session;

/// Leaks between the parts of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SplitLeaks {
    /// The split.
    pub split: SplitDefinition,
    /// Its parts, over the rows of the split.
    pub parts: Vec<PartCount>,
    /// Leaks at each level.
    pub levels: Vec<Leaks>,
}

impl SplitLeaks {
    /// Returns true if nothing leaks at the declared levels.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let mut levels = self.levels.iter();
        !levels.any(|leaks| leaks.is_declared && leaks.any())
    }
}

/// Counts leaks between the parts of a split, over its rows. Leaks are not allowed up to `level`; by
/// default at the levels implied by the split's unit.
///
/// # Errors
/// [`Error::Unknown`] if there is no such split, and failures of the storage.
pub async fn check_split(
    store: &Store,
    name: &str,
    level: Option<LeakLevel>,
) -> Result<SplitLeaks> {
    let split = find_definition(&definitions_session(store).await?, name).await?;
    let context = split_session(store, &[split.query.as_deref()]).await?;
    let declared = level.map_or_else(|| LeakLevel::of_unit(split.unit), LeakLevel::up_to);
    let columns = ["graph_id", "config_id", "environment_id", "platform"];
    let columns: Vec<&str> = columns
        .iter()
        .chain(split.unit.columns())
        .copied()
        .collect();
    let scope = Scope::try_new(&context, split.query.as_deref(), &columns).await?;
    let parts = count_parts(&scope, &split).await?;
    let of_part = |part: &str| {
        let mut own = parts.iter();
        let own = own.find(|one| one.part.as_deref() == Some(part));
        own.map_or(0, |part| part.record_count)
    };
    let held_out = of_part("valid") + of_part("test");
    let graphs = count_graphs(&context, &scope, &split).await?;
    let mut levels = Vec::new();
    for level in LeakLevel::ALL {
        let found = match level {
            LeakLevel::L0 => configuration_leaks(&scope, &split, "config_id, platform").await?,
            LeakLevel::L1 => configuration_leaks(&scope, &split, "config_id").await?,
            LeakLevel::L2 => {
                count_leaks(&graphs.group_by(|row| BTreeSet::from([row.task.clone()])))
            }
            LeakLevel::L3 => {
                let labels = graph_keys(&context, SplitUnit::Structure).await?;
                count_leaks(
                    &graphs.group_by(|row| labels.get(&row.graph).cloned().unwrap_or_default()),
                )
            }
            LeakLevel::L4 => sketch_leaks(&scope, &split).await?,
            LeakLevel::L5 => {
                let labels = graph_keys(&context, SplitUnit::Network).await?;
                count_leaks(
                    &graphs.group_by(|row| labels.get(&row.graph).cloned().unwrap_or_default()),
                )
            }
        };
        levels.push(Leaks {
            level,
            shared: level.description(),
            unit_count: found.units,
            leaking_unit_count: found.leaking_units,
            held_out_record_count: held_out,
            leaking_record_count: found.leaking_records,
            is_declared: declared.contains(&level),
        });
    }
    Ok(SplitLeaks {
        split,
        parts,
        levels,
    })
}

/// Returns the keys of graphs; the keys of structures include DAGs.
async fn graph_keys(
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

/// Record counts of a graph in an environment.
struct GraphRow {
    graph: i64,
    task: String,
    counts: Counts,
}

struct GraphRows(Vec<GraphRow>);

impl GraphRows {
    fn group_by(
        &self,
        units: impl Fn(&GraphRow) -> BTreeSet<String>,
    ) -> Vec<(BTreeSet<String>, Counts)> {
        self.0.iter().map(|row| (units(row), row.counts)).collect()
    }
}

/// SQL columns that count the records of each part.
const IN_PARTS: &str = "count(*) FILTER (WHERE part = 'train') AS a, count(*) FILTER (WHERE part = 'valid') AS b, \
    count(*) FILTER (WHERE part = 'test') AS c";

async fn count_graphs(
    context: &SessionContext,
    scope: &Scope<'_>,
    split: &SplitDefinition,
) -> Result<GraphRows> {
    let part = split_call(split);
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
    for batch in scope.collect(&sql).await? {
        let ids = integers(&batch, 0)?.into_iter().zip(integers(&batch, 1)?);
        let counts = part_counts(&batch, 2)?;
        for ((graph, environment), counts) in ids.zip(counts) {
            let workload = workloads.get(&graph).map_or("", String::as_str);
            let kind = kinds.get(&environment).map_or("", String::as_str);
            rows.push(GraphRow {
                graph,
                task: task_key(workload, kind),
                counts,
            });
        }
    }
    Ok(GraphRows(rows))
}

fn part_counts(batch: &arrow::array::RecordBatch, first: usize) -> Result<Vec<Counts>> {
    let column = |place| integers(batch, first + place);
    let columns = column(0)?.into_iter().zip(column(1)?).zip(column(2)?);
    let counts = columns.map(|((a, b), c)| [a, b, c].map(|count| count.unsigned_abs()));
    Ok(counts.collect())
}

/// SQL that counts leaks from rows with the records of one unit in each part.
const LEAKS: &str = "SELECT count(*) AS units, \
    count(*) FILTER (WHERE (a > 0 AND b + c > 0) OR (b > 0 AND c > 0)) AS leaking_units, \
    coalesce(CAST(sum(CASE WHEN a > 0 THEN b + c WHEN b > 0 THEN c ELSE 0 END) AS BIGINT), 0) AS leaking_records";

async fn configuration_leaks(
    scope: &Scope<'_>,
    split: &SplitDefinition,
    columns: &str,
) -> Result<LeakCounts> {
    let part = split_call(split);
    let sql = format!(
        "{LEAKS} FROM (SELECT {columns}, {IN_PARTS} FROM (SELECT {columns}, {part} AS part FROM $rows) \
         WHERE part IS NOT NULL GROUP BY {columns})"
    );
    query_leaks(scope, &sql).await
}

/// Counts leaking sketches. Sketches are equal if their texts are equal, whatever their graphs.
async fn sketch_leaks(scope: &Scope<'_>, split: &SplitDefinition) -> Result<LeakCounts> {
    let part = split_call(split);
    let sql = format!(
        "{LEAKS} FROM (SELECT k.sketch, CAST(sum(p.a) AS BIGINT) AS a, CAST(sum(p.b) AS BIGINT) AS b, CAST(sum(p.c) AS BIGINT) AS c \
         FROM (SELECT config_id, {IN_PARTS} FROM (SELECT config_id, {part} AS part FROM $rows) WHERE part IS NOT NULL \
         GROUP BY config_id) AS p JOIN (SELECT config_id, xxh3_64(sketch) AS sketch FROM configurations) AS k \
         ON k.config_id = p.config_id GROUP BY k.sketch)"
    );
    query_leaks(scope, &sql).await
}

async fn query_leaks(scope: &Scope<'_>, sql: &str) -> Result<LeakCounts> {
    let mut found = LeakCounts::default();
    for batch in scope.collect(sql).await? {
        let column = |place| integers(&batch, place);
        let rows = column(0)?.into_iter().zip(column(1)?).zip(column(2)?);
        for ((units, leaking_units), leaking_records) in rows {
            found = LeakCounts {
                units: units.unsigned_abs(),
                leaking_units: leaking_units.unsigned_abs(),
                leaking_records: leaking_records.unsigned_abs(),
            };
        }
    }
    Ok(found)
}
