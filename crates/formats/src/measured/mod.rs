//! Records as lines of JSON, written by `tsql measure` or any other program that times kernels.
//!
//! ```text
//! {"workload_key": ["matmul_f32", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [1312345, 1309871.5],
//!  "measured_at": 1697658022, "environment": {"target": "c", "machine": {...}, "settings": {...}}}
//! ```
//!
//! The keys are column names; [`line`] lists them. A graph is a string, list or object; so is a configuration. Lists
//! and objects are compared independent of key order and spaces. A line in the format of Python's `json.dumps` (with or
//! without spaces), with its keys in the order of `line::KEYS` and nested keys sorted, is rebuilt from columns. Any
//! other line is stored as text.

pub mod disturbed_repeats;
mod kernel;
mod line;
mod measured_writer;
mod metrics;
mod render;

use std::collections::HashMap;

use super::rows::{
    Environment, JsonWriter, Kernel, LogRow, LogRows, Measurement, RecordDetails, append_bytes,
    intern,
};
use crate::log_context::LogContext;
use crate::record_writer::RecordWriter;
use crate::run_times::pack_run_times;
use crate::steps::StepReader;
use crate::{Format, LogFormat, chunk};

pub use kernel::{build_description, kernel_of_environment as kernel};
use line::MeasuredLine;
pub use line::VERSION;
use measured_writer::MeasuredWriter;
pub use render::write;
use tsql_codecs::identity::ProgramHash;

/// Name of the dataset and value of `--format`.
pub const NAME: &str = "measured";

/// Log format of measured records.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "measured records"
    }
}

impl LogFormat for Log {
    fn begins_record(&self, line: &[u8]) -> bool {
        looks_like_record(line)
    }

    fn parse(&self, chunk: &[u8], crlf: bool, _: &LogContext) -> LogRows {
        parse(chunk, crlf)
    }

    fn record_writer(&self) -> Box<dyn RecordWriter> {
        Box::<MeasuredWriter>::default()
    }

    fn has_details(&self) -> bool {
        true
    }

    fn file_extension(&self) -> &'static str {
        "jsonl"
    }
}

/// Whether a line looks like a measured record.
fn looks_like_record(line: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(line, key).is_some();
    line.starts_with(b"{") && has(b"\"workload_key\"") && has(b"\"steps\"")
}

/// Parses the lines of `chunk`. The last line may lack its line feed.
pub fn parse(chunk: &[u8], crlf: bool) -> LogRows {
    let mut parser = MeasuredParser {
        crlf,
        ..MeasuredParser::default()
    };
    for line in chunk::split_lines(chunk) {
        let result = chunk::read_record(line, |line| parser.add_record(line));
        parser.rows.add_line(line, result);
    }
    parser.rows
}

#[derive(Default)]
struct MeasuredParser {
    /// Lines end in `\r\n`.
    crlf: bool,
    rows: LogRows,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    kernels: HashMap<Kernel, u32>,
    /// Environments by their text, with the kernel derived from each.
    environments_by_text: HashMap<String, (Environment, Kernel)>,
    steps: StepReader,
    rebuilt: Vec<u8>,
}

impl MeasuredParser {
    fn add_record(&mut self, text: &[u8]) -> Result<(), String> {
        let text_utf8 = std::str::from_utf8(text)
            .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
        let line = MeasuredLine::parse(text_utf8.trim_start_matches('\u{feff}'))?;
        let packed = pack_run_times(&line.repeats)?;
        let packed = packed.filter(|_| line.error_no == 0);
        let count = packed.as_ref().map_or(0, |_| line.repeats.len());
        let mut row = LogRow {
            line: self.rows.line_count,
            graph: 0,
            environment: 0,
            sketch: 0,
            kernel: None,
            program: ProgramHash::from_steps(line.steps.as_bytes()),
            params: (0, 0),
            runtime_ns: packed.as_ref().map(|packed| packed.runtime_ns),
            repeat_count: i32::try_from(count).map_err(|_| "too many repeats".to_owned())?,
            repeats: None,
            error_no: line.error_no,
            all_cost: line.all_cost,
            measured_at_s: line.measured_at_s,
            measured_at_fraction: None,
            workload_index: None,
            details: None,
        };
        self.steps.read_values(&line.steps);
        let bytes = packed.and_then(|packed| packed.bytes);
        let (environment, environment_kernel) = self.environment(line.environment)?;
        // Values that the environment contains are not stored again.
        let line_kernel = line.kernel.difference_from(&environment_kernel);
        let kernel = Kernel {
            program: line.kernel.program.or(environment_kernel.program),
            build: line.kernel.build.or(environment_kernel.build),
        };
        row.program = kernel.hash(row.program);
        let measurement = Measurement {
            runtime_ns: row.runtime_ns,
            repeat_count: row.repeat_count,
            repeats: bytes.as_deref(),
            error_no: row.error_no,
            all_cost: row.all_cost.map(|cost| cost.pad_digits().trim_zeros()),
            measured_at_s: row.measured_at_s,
            measured_at_fraction: None,
            workload_index: None,
        };
        let writer = [JsonWriter::Python, JsonWriter::PythonCompact]
            .into_iter()
            .find(|&writer| {
                let environment = Environment {
                    writer,
                    ..environment.clone()
                };
                self.rebuilt.clear();
                let is_written = write(
                    &line.workload_key,
                    line.steps.as_bytes(),
                    &line_kernel,
                    measurement,
                    &line.details,
                    &environment,
                    &mut self.rebuilt,
                );
                if self.crlf {
                    self.rebuilt.push(b'\r');
                }
                is_written && self.rebuilt == text
            });
        if writer.is_none() {
            let index = self.rows.records.len();
            self.rows.verbatim.push((index, text.to_vec()));
        }
        let environment = Environment {
            writer: writer.unwrap_or(JsonWriter::Python),
            ..environment
        };
        let rows = &mut self.rows;
        row.sketch = self
            .steps
            .sketch_index(line.steps.as_bytes(), &mut rows.sketches);
        row.params = append_bytes(&mut rows.params, self.steps.params());
        row.graph = intern(&mut self.graphs, &mut rows.graphs, &line.workload_key);
        row.environment = intern(&mut self.environments, &mut rows.environments, &environment);
        if kernel != Kernel::default() {
            row.kernel = Some(intern(&mut self.kernels, &mut rows.kernels, &kernel));
        }
        row.repeats = bytes.map(|bytes| append_bytes(&mut rows.repeats, &bytes));
        if line.details != RecordDetails::default() {
            row.details = u32::try_from(rows.details.len()).ok();
            rows.details.push(line.details);
        }
        rows.records.push(row);
        Ok(())
    }

    fn environment(&mut self, text: &str) -> Result<(Environment, Kernel), String> {
        if let Some(cached) = self.environments_by_text.get(text) {
            return Ok(cached.clone());
        }
        let environment = line::parse_environment(text)?;
        let derived_kernel = kernel::kernel_of_environment(&environment);
        let cached = (environment, derived_kernel);
        self.environments_by_text
            .insert(text.to_owned(), cached.clone());
        Ok(cached)
    }
}

/// Splits comma-separated flags, the representation of older files.
pub fn split_flags(flags: &str) -> Vec<String> {
    let parts = flags.split(',').filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
