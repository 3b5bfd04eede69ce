//! Restores log lines from records, for all dialects.
//!
//! A line consists of its graph, the steps of its configuration, its environment and its measurement. The
//! [`RecordWriter`] of the dialect formats them. Lines that are not records, or that columns do not restore, are
//! stored verbatim.

pub mod columns;
mod details;
mod log_writer;
pub(super) mod others;
mod records;

use std::collections::HashMap;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::{Float64Type, Int16Type, Int32Type, Int64Type};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use tsql_codecs::identity::environment_id;
use tsql_codecs::number::Decimal;
use tsql_codecs::sketch;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};
use tsql_formats::rows::{self, Environment, JsonWriter, Kernel, Measurement};
use tsql_formats::{Dialect, RecordWriter, StoredRecord};
use tsql_schema::column;

use details::DetailColumns;

use super::format_writer::HashCheck;

const COLUMNS: &str = "r.source_id, r.line, r.graph_id, r.environment_id, r.runtime_ns, \
    r.repeat_count, r.repeats, r.error_no, r.all_cost_digits, r.all_cost_exponent, r.measured_at_s, r.measured_at_fraction, \
    r.workload_index, r.verbatim, \
    r.error_message, r.baseline_ns, r.cpu_ns, r.cpu_repeats, r.disturbed_list, r.disturbed_repeats, \
    r.flag_list, r.flags, r.metric_layout, r.metric_values, r.metric_texts, r.dataset, c.sketch, c.params, c.program, c.build";

const JOIN_CONFIGURATIONS: &str = "AS r LEFT JOIN stored.configurations AS c \
    ON c.graph_id = r.graph_id AND c.config_id = r.config_id";

/// Records that a predicate over the stored columns (`r`) selects, by source and line. `graphs` is the
/// range of their graph identifiers, if known.
async fn records_where(
    context: &SessionContext,
    predicate: &str,
    graphs: Option<(i64, i64)>,
) -> Result<SendableRecordBatchStream> {
    // The range is applied to both tables, which prunes files and pages.
    let between = |table: &str| {
        graphs.map_or_else(String::new, |(least, most)| {
            format!(" AND {table}.graph_id BETWEEN {least} AND {most}")
        })
    };
    let (of_configurations, of_records) = (between("c"), between("r"));
    let sql = format!(
        "SELECT {COLUMNS} FROM stored.all_records {JOIN_CONFIGURATIONS}{of_configurations} WHERE {predicate}{of_records} \
         ORDER BY r.source_id, r.line"
    );
    execute_stream(context, &sql).await
}

/// Records of some datasets (an SQL `IN` list) that a predicate over `records` selects.
pub async fn select_records(
    context: &SessionContext,
    datasets: &str,
    predicate: &str,
) -> Result<SendableRecordBatchStream> {
    let sql = format!(
        "SELECT {COLUMNS} FROM stored.records {JOIN_CONFIGURATIONS} \
         JOIN (SELECT source_id AS s, line AS l FROM records WHERE dataset IN ({datasets}) AND ({predicate})) AS k \
         ON k.s = r.source_id AND k.l = r.line ORDER BY r.source_id, r.line"
    );
    execute_stream(context, &sql).await
}

/// Records whose sources and lines are in the table `chosen` (columns `chosen_id` and `chosen_line`), by
/// source and line.
pub async fn records_at_lines(
    context: &SessionContext,
    chosen: &str,
) -> Result<SendableRecordBatchStream> {
    let sql = format!(
        "SELECT {COLUMNS} FROM stored.records {JOIN_CONFIGURATIONS} \
         JOIN {chosen} AS k ON k.chosen_id = r.source_id AND k.chosen_line = r.line \
         ORDER BY r.source_id, r.line"
    );
    execute_stream(context, &sql).await
}

async fn execute_stream(context: &SessionContext, sql: &str) -> Result<SendableRecordBatchStream> {
    let frame = plan_query(context, sql).await?;
    frame.execute_stream().await.map_err(Error::Query)
}

/// Converts a batch to records.
pub fn record_rows(batch: &RecordBatch) -> Result<Vec<RecordRow<'_>>> {
    let integers = |name| column::numbers::<Int64Type>(batch, name);
    let bytes = |name| column::bytes(batch, name);
    let (sources, lines) = (integers("source_id")?, integers("line")?);
    let (graphs, environments) = (integers("graph_id")?, integers("environment_id")?);
    let runtimes = column::numbers::<Float64Type>(batch, "runtime_ns")?;
    let counts = column::numbers::<Int32Type>(batch, "repeat_count")?;
    let errors = column::numbers::<Int16Type>(batch, "error_no")?;
    let digits = integers("all_cost_digits")?;
    let exponents = column::numbers::<Int16Type>(batch, "all_cost_exponent")?;
    let all_cost = |row| {
        let (digits, exponent) = (column::value(digits, row)?, column::value(exponents, row)?);
        let exponent = i32::from(exponent);
        Some(Decimal { digits, exponent }.trim_zeros())
    };
    let times = integers("measured_at_s")?;
    let fractions = column::numbers::<Int32Type>(batch, "measured_at_fraction")?;
    let workloads = column::numbers::<Int32Type>(batch, "workload_index")?;
    let (repeats, verbatim, params) = (bytes("repeats")?, bytes("verbatim")?, bytes("params")?);
    let (sketches, datasets) = (
        column::text(batch, "sketch")?,
        column::text(batch, "dataset")?,
    );
    let row = |row| RecordRow {
        place: row,
        source_id: sources.value(row),
        line: lines.value(row).unsigned_abs(),
        dataset: datasets.value(row),
        graph_id: graphs.value(row),
        environment_id: environments.value(row),
        result: Measurement {
            runtime_ns: column::value(runtimes, row),
            repeat_count: counts.value(row),
            repeats: column::bytes_at(repeats, row),
            error_no: errors.value(row),
            all_cost: all_cost(row),
            measured_at_s: column::value(times, row),
            measured_at_fraction: column::value(fractions, row),
            workload_index: column::value(workloads, row),
        },
        verbatim: column::bytes_at(verbatim, row),
        sketch: column::text_at(sketches, row),
        params: column::bytes_at(params, row),
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// A record with everything that the lines of all dialects consist of.
pub struct RecordRow<'a> {
    /// Index in the batch.
    place: usize,
    source_id: i64,
    line: u64,
    /// Dataset of the record.
    pub dataset: &'a str,
    graph_id: i64,
    environment_id: i64,
    result: Measurement<'a>,
    verbatim: Option<&'a [u8]>,
    sketch: Option<&'a str>,
    params: Option<&'a [u8]>,
}

impl RecordRow<'_> {
    /// The file that contains the line.
    pub fn source_id(&self) -> i64 {
        self.source_id
    }

    /// The graph of the record.
    pub fn graph_id(&self) -> i64 {
        self.graph_id
    }

    /// Index of its graph in the file beside its log, if that file contains the graphs.
    pub fn workload_index(&self) -> Option<i32> {
        self.result.workload_index
    }
}

/// Graphs and environments of a dataset, by identifier.
struct LineContext {
    /// Workload keys.
    graphs: HashMap<i64, String>,
    environments: HashMap<i64, Environment>,
}

/// Writes the lines of a dataset.
pub struct LineWriter {
    known: LineContext,
    speller: Box<dyn RecordWriter>,
    has_details: bool,
    steps: Vec<u8>,
}

impl LineWriter {
    /// Loads the graphs and environments of a dialect's dataset.
    pub async fn load(context: &SessionContext, dialect: Dialect) -> Result<Self> {
        Ok(Self {
            known: load_line_context(context, dialect.dataset()).await?,
            speller: dialect.record_writer(),
            has_details: dialect.has_details(),
            steps: Vec::new(),
        })
    }

    /// Returns a writer for the lines of a batch.
    pub fn for_batch<'a>(&'a mut self, batch: &'a RecordBatch) -> Result<BatchLineWriter<'a>> {
        let details = self
            .has_details
            .then(|| DetailColumns::try_new(batch))
            .transpose()?;
        Ok(BatchLineWriter {
            lines: self,
            details,
        })
    }
}

/// Writes the lines of a batch.
pub struct BatchLineWriter<'a> {
    lines: &'a mut LineWriter,
    details: Option<DetailColumns<'a>>,
}

impl BatchLineWriter<'_> {
    /// Key of the graph of a record.
    pub fn graph_key(&self, row: &RecordRow<'_>) -> Option<&str> {
        let key = self.lines.known.graphs.get(&row.graph_id);
        key.map(String::as_str)
    }

    /// Appends the line of a record. Adds `\r` for a `crlf` file, but no line feed.
    pub fn write(&mut self, row: &RecordRow<'_>, crlf: bool, out: &mut Vec<u8>) -> Result<()> {
        if let Some(text) = row.verbatim {
            out.extend_from_slice(text);
            return Ok(());
        }
        let broken = |what: &str| {
            let reason = format!("line {} of source {}: {what}", row.line, row.source_id);
            Error::damaged("records", reason)
        };
        let sketch = row
            .sketch
            .ok_or_else(|| broken("its configuration is missing"))?;
        let LineWriter {
            known,
            speller,
            steps,
            ..
        } = &mut *self.lines;
        steps.clear();
        if !sketch::fill(sketch.as_bytes(), row.params, steps) {
            return Err(broken("its parameters do not fit their sketch"));
        }
        let graph = known.graphs.get(&row.graph_id);
        let (Some(graph), Some(environment)) = (graph, known.environments.get(&row.environment_id))
        else {
            return Err(broken("its graph or environment is missing"));
        };
        let said = self.details.as_ref().map(|details| details.at(row.place));
        let (kernel, details): (Kernel, rows::RecordDetails) = said.unwrap_or_default();
        let record = StoredRecord {
            graph_id: row.graph_id,
            environment_id: row.environment_id,
            workload_key: graph,
            environment,
            steps,
            measurement: row.result,
            kernel: &kernel,
            details: &details,
        };
        if !speller.write_record(&record, out) {
            return Err(broken("its columns cannot be written as a line"));
        }
        if crlf {
            out.push(b'\r');
        }
        Ok(())
    }
}

/// Recomputes the identifiers of a dataset's environments.
async fn recompute(context: &SessionContext, dataset: &str) -> Result<HashCheck> {
    let mut recomputed = HashCheck::default();
    for (id, environment) in load_environments(context, dataset).await? {
        let same = environment_id(dataset, &environment.canonical_text()) == id;
        let wrong = (!same).then(|| format!("{id} is not the hash of its row"));
        recomputed.add("environments", wrong);
    }
    Ok(recomputed)
}

/// Loads the graphs and environments of a dataset.
async fn load_line_context(context: &SessionContext, dataset: &str) -> Result<LineContext> {
    let mut graphs = HashMap::new();
    let sql =
        format!("SELECT graph_id, workload_key FROM stored.graphs WHERE dataset = '{dataset}'");
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let keys = column::text(&batch, "workload_key")?;
        graphs
            .extend((0..batch.num_rows()).map(|row| (ids.value(row), keys.value(row).to_owned())));
    }
    Ok(LineContext {
        graphs,
        environments: load_environments(context, dataset).await?,
    })
}

/// Loads all environments of a dataset, by identifier.
async fn load_environments(
    context: &SessionContext,
    dataset: &str,
) -> Result<HashMap<i64, Environment>> {
    let mut environments = HashMap::new();
    let sql = format!("SELECT * FROM stored.environments WHERE dataset = '{dataset}'");
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "environment_id")?;
        let text = |name| column::text(&batch, name);
        let (targets, hosts) = (text("target")?, text("target_host")?);
        let (versions, writers) = (text("log_version")?, text("writer")?);
        let tvm_versions = text("tvm_version")?;
        let options = column::numbers::<Int32Type>(&batch, "layout_rewrite_option")?;
        let hardware = column::lists(&batch, "hardware_params")?;
        let inputs = column::lists(&batch, "task_input_names")?;
        let (machines, settings) = (text("machine")?, text("settings")?);
        let programs = text("program")?;
        for row in 0..batch.num_rows() {
            let integers = hardware.is_valid(row).then(|| hardware.value(row));
            let integers = integers.map(|list| list.as_primitive::<Int64Type>().values().to_vec());
            let writer = JsonWriter::by_name(writers.value(row)).ok_or_else(|| {
                Error::damaged(
                    "environments",
                    format!("no writer `{}`", writers.value(row)),
                )
            })?;
            let environment = Environment {
                target: targets.value(row).to_owned(),
                hardware_params: integers,
                target_host: column::text_at(hosts, row).map(str::to_owned),
                layout_rewrite_option: column::value(options, row),
                task_input_names: column::texts_at(inputs, row),
                log_version: versions.value(row).to_owned(),
                tvm_version: column::text_at(tvm_versions, row).map(str::to_owned),
                writer,
                machine: column::text_at(machines, row).map(str::to_owned),
                settings: column::text_at(settings, row).map(str::to_owned),
                program: column::text_at(programs, row).map(str::to_owned),
            };
            environments.insert(ids.value(row), environment);
        }
    }
    Ok(environments)
}
