//! Facts about the data for the card, queried in the session that reads the rows.
//!
//! Only counts, minima and maxima: they do not depend on the order in which rows are read.

use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};

/// A small table about the data.
#[derive(Clone, Debug)]
pub(super) struct FactTable {
    pub(super) title: &'static str,
    /// Explanation for readers.
    pub(super) note: &'static str,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Title, note and SQL, in the order of the card.
const COUNTS: [(&str, &str, &str); 3] = [
    (
        "Platforms",
        "`unmeasured` configurations were only proposed, or their runtime is withheld. Times are UTC.",
        "SELECT dataset, platform, count(*) AS records,
           count(*) FILTER (WHERE status = 'ok') AS ok,
           count(*) FILTER (WHERE status = 'failed') AS failed,
           count(*) FILTER (WHERE status = 'unmeasured') AS unmeasured,
           count(DISTINCT graph_id) AS graphs, count(DISTINCT config_id) AS configurations,
           CAST(min(measured_at) AS DATE) AS measured_from, CAST(max(measured_at) AS DATE) AS measured_to
         FROM records GROUP BY dataset, platform ORDER BY dataset, platform",
    ),
    (
        "Operators",
        "Operators of the graphs, as far as their sources state them: an operator, its blocks, \
         the name of its builder, or the kind of graph. The 40 with the most records.",
        "SELECT g.dataset,
           coalesce(t.op, w.blocks, g.kind,
             CASE WHEN regexp_like(g.workload_name, '^([0-9a-f]{32}|[0-9]+)$') THEN NULL ELSE g.workload_name END,
             'not stated') AS operator,
           count(*) AS graphs, CAST(sum(r.records) AS BIGINT) AS records,
           CAST(sum(r.failed) AS BIGINT) AS failed
         FROM (SELECT graph_id, count(*) AS records, count(*) FILTER (WHERE status = 'failed') AS failed
               FROM records GROUP BY graph_id) AS r
         JOIN graphs AS g ON g.graph_id = r.graph_id
         LEFT JOIN tasks AS t ON t.graph_id = r.graph_id
         LEFT JOIN (SELECT graph_id, min(array_to_string(blocks, ' ')) AS blocks FROM workloads GROUP BY graph_id) AS w
           ON w.graph_id = r.graph_id
         GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2 LIMIT 40",
    ),
    (
        "Errors",
        "Errors by TVM's MeasureErrorNo (`error_no`).",
        "SELECT dataset, platform, error_no,
           CASE error_no WHEN 1 THEN 'instantiation' WHEN 2 THEN 'compile host' WHEN 3 THEN 'compile device'
             WHEN 4 THEN 'runtime' WHEN 5 THEN 'wrong answer' WHEN 6 THEN 'build timeout'
             WHEN 7 THEN 'run timeout' ELSE 'unknown' END AS error, count(*) AS records
         FROM records WHERE error_no <> 0
         GROUP BY dataset, platform, error_no ORDER BY dataset, platform, error_no",
    ),
];

/// Titles, notes and SQL of facts about the measurements.
const MEASURED: [(&str, &str, &str); 4] = [
    (
        "Repeats",
        "`runtime_ns` is the mean of the repeats (`repeats_ns`), `noise` their standard deviation \
         divided by the mean.",
        "SELECT dataset, platform, min(repeat_count) AS fewest_repeats, max(repeat_count) AS most_repeats,
           CAST(sum(repeat_count) AS BIGINT) AS repeats,
           count(*) FILTER (WHERE repeat_count > 1) AS repeated_records,
           count(*) FILTER (WHERE repeat_count > 1 AND noise >= 0.01) AS noise_of_1_percent,
           count(*) FILTER (WHERE repeat_count > 1 AND noise >= 0.1) AS noise_of_10_percent
         FROM records WHERE status = 'ok' AND repeat_count > 0
         GROUP BY dataset, platform ORDER BY dataset, platform",
    ),
    (
        "Environments",
        "Targets and settings, as the sources state them; `environments` has all of them. The 40 \
         with the most records.",
        "SELECT e.dataset, r.platform, e.target_kind, e.log_version, e.tvm_version,
           count(*) AS environments, CAST(sum(r.records) AS BIGINT) AS records
         FROM (SELECT platform, environment_id, count(*) AS records FROM records GROUP BY platform, environment_id) AS r
         JOIN environments AS e ON e.environment_id = r.environment_id
         GROUP BY 1, 2, 3, 4, 5 ORDER BY 7 DESC, 1, 2, 3, 4, 5 LIMIT 40",
    ),
    (
        "Settings",
        "Settings of `tsql measure`: durations, numbers of repeats and limits. The 10 with the most records.",
        "SELECT e.settings, CAST(sum(r.records) AS BIGINT) AS records
         FROM (SELECT environment_id, count(*) AS records FROM records GROUP BY environment_id) AS r
         JOIN environments AS e ON e.environment_id = r.environment_id
         WHERE e.settings IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "Flags",
        "Irregularities of measurements (`flags`).",
        "SELECT flag, count(*) AS records FROM (SELECT unnest(flags) AS flag FROM records) GROUP BY flag ORDER BY flag",
    ),
];

/// Query for the day of the newest data.
const NEWEST: &str = "SELECT max(CAST(ingested_at AS DATE)) AS newest FROM sources";

/// Contents of the dataset, measurement conditions, and the day of the newest data.
pub(super) struct Facts {
    pub(super) counts: Vec<FactTable>,
    pub(super) measured: Vec<FactTable>,
    pub(super) newest: Option<String>,
}

impl Facts {
    /// Runs the queries.
    ///
    /// # Errors
    /// [`Error::Query`], including failures of the storage.
    pub(super) async fn load(context: &SessionContext) -> Result<Self> {
        let newest = text_rows(context, NEWEST).await?;
        let newest = newest.1.into_iter().flatten().next();
        Ok(Self {
            counts: run_fact_queries(context, &COUNTS).await?,
            measured: run_fact_queries(context, &MEASURED).await?,
            newest: newest.filter(|day| !day.is_empty()),
        })
    }

    /// Returns the number of platforms with records.
    pub(super) fn platforms(&self) -> usize {
        let rows = self.counts.first().map(|fact| fact.rows.as_slice());
        let names = rows.unwrap_or_default().iter().filter_map(|row| row.get(1));
        names.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Returns the datasets with records.
    pub(super) fn datasets(&self) -> Vec<String> {
        let rows = self.counts.first().map(|fact| fact.rows.as_slice());
        let names = rows
            .unwrap_or_default()
            .iter()
            .filter_map(|row| row.first());
        let mut names: Vec<String> = names.cloned().collect();
        names.dedup();
        names
    }
}

/// Runs queries, and returns the results that have rows.
async fn run_fact_queries(
    context: &SessionContext,
    questions: &[(&'static str, &'static str, &str)],
) -> Result<Vec<FactTable>> {
    let mut facts = Vec::new();
    for (title, note, sql) in questions {
        let (columns, rows) = text_rows(context, sql).await?;
        if !rows.is_empty() {
            facts.push(FactTable {
                title,
                note,
                columns,
                rows,
            });
        }
    }
    Ok(facts)
}

async fn text_rows(context: &SessionContext, sql: &str) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for batch in collect(context, sql).await? {
        let schema = batch.schema();
        columns = schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        let options = FormatOptions::default();
        let shown = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options));
        let shown: std::result::Result<Vec<_>, _> = shown.collect();
        let shown = shown.map_err(|error| Error::Query(error.into()))?;
        rows.extend((0..batch.num_rows()).map(|row| {
            let cells = shown.iter().map(|column| column.value(row).to_string());
            cells.collect::<Vec<_>>()
        }));
    }
    Ok((columns, rows))
}
