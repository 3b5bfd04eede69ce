//! Parser of log formats whose lines contain only template, configuration, times and environment.

use std::collections::HashMap;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::number::Decimal;

use crate::chunk;
use crate::log_context::LogContext;
use crate::record_writer::{RecordWriter, StoredRecord};
use crate::rows::{Environment, JsonWriter, LogRow, LogRows, Measurement, append_bytes, intern};
use crate::run_times::pack_run_times;
use crate::steps::StepReader;

/// Content of a line.
#[derive(Debug)]
pub(crate) struct ParsedLine {
    /// Key of the graph.
    pub(crate) workload_key: String,
    /// Configuration as JSON, with the spacing of Python.
    pub(crate) steps: String,
    /// Environment of the measurement. The parser of the format does not know its writer yet.
    pub(crate) environment: Environment,
    /// Run time of each repeat in seconds.
    pub(crate) costs: Vec<Decimal>,
    /// TVM's `MeasureErrorNo`.
    pub(crate) error_no: i16,
    /// Seconds spent on building and measuring.
    pub(crate) all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub(crate) measured_at_s: Option<i64>,
    /// Fraction of `measured_at_s` in units of 100 ns, if there is a decimal point.
    pub(crate) measured_at_fraction: Option<i32>,
    /// Index of the graph in the companion file, from 0, if that contains the graphs.
    pub(crate) workload_index: Option<i32>,
}

/// Parser and writer of such a format.
#[derive(Debug)]
pub(crate) struct LineFormat {
    /// Parses a line, which may reference graphs in the companion file, or returns why it is not a record.
    pub(crate) parse: fn(&[u8], &LogContext) -> Result<ParsedLine, String>,
    /// Appends a line without its line ending from graph, configuration, result and environment; returns false if the
    /// columns cannot be written.
    pub(crate) write: fn(&str, &[u8], Measurement<'_>, &Environment, &mut Vec<u8>) -> bool,
    /// Possible writers of a line, the most frequent first.
    pub(crate) writers: &'static [JsonWriter],
}

impl RecordWriter for &'static LineFormat {
    fn write_record(&mut self, record: &StoredRecord<'_>, out: &mut Vec<u8>) -> bool {
        let (key, steps) = (record.workload_key, record.steps);
        (self.write)(key, steps, record.measurement, record.environment, out)
    }
}

/// Parses the lines of `chunk`. The last line may lack its line feed; set `crlf` if lines end in `\r\n`. A line that
/// the columns do not reproduce is stored as text.
pub(crate) fn parse(
    chunk: &[u8],
    crlf: bool,
    context: &LogContext,
    format: &'static LineFormat,
) -> LogRows {
    let mut parser = ChunkParser {
        format,
        crlf,
        context,
        rows: LogRows::default(),
        graphs: HashMap::new(),
        environments: HashMap::new(),
        steps: StepReader::default(),
        rebuilt: Vec::new(),
    };
    for line in chunk::split_lines(chunk) {
        let result = chunk::read_record(line, |line| parser.add_record(line));
        parser.rows.add_line(line, result);
    }
    parser.rows
}

/// Parser of a chunk with the values that its lines have in common.
struct ChunkParser<'a> {
    format: &'static LineFormat,
    crlf: bool,
    context: &'a LogContext,
    rows: LogRows,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    steps: StepReader,
    rebuilt: Vec<u8>,
}

impl ChunkParser<'_> {
    fn add_record(&mut self, text: &[u8]) -> Result<(), String> {
        let mut line = (self.format.parse)(text, self.context)?;
        let is_measured = line.error_no == 0 && line.costs.iter().any(|cost| cost.digits != 0);
        let costs = if is_measured {
            line.costs.as_slice()
        } else {
            &[]
        };
        let packed = pack_run_times(costs)?;
        let count = packed.as_ref().map_or(0, |_| line.costs.len());
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
            measured_at_fraction: line.measured_at_fraction,
            workload_index: line.workload_index,
            details: None,
        };
        let bytes = packed.and_then(|packed| packed.bytes);
        if !self.verify_round_trip(text, &mut line, &row, bytes.as_deref()) {
            let index = self.rows.records.len();
            self.rows.verbatim.push((index, text.to_vec()));
        }
        let rows = &mut self.rows;
        self.steps.read_values(&line.steps);
        row.sketch = self
            .steps
            .sketch_index(line.steps.as_bytes(), &mut rows.sketches);
        row.params = append_bytes(&mut rows.params, self.steps.params());
        row.graph = intern(&mut self.graphs, &mut rows.graphs, &line.workload_key);
        let environments = &mut self.environments;
        row.environment = intern(environments, &mut rows.environments, &line.environment);
        row.repeats = bytes.map(|bytes| append_bytes(&mut rows.repeats, &bytes));
        rows.records.push(row);
        Ok(())
    }

    /// Rebuilds the line from its future columns and sets the writer that reproduces it. Returns false if no writer
    /// does.
    fn verify_round_trip(
        &mut self,
        text: &[u8],
        line: &mut ParsedLine,
        row: &LogRow,
        repeats: Option<&[u8]>,
    ) -> bool {
        let measurement = Measurement {
            runtime_ns: row.runtime_ns,
            repeat_count: row.repeat_count,
            repeats,
            error_no: row.error_no,
            all_cost: row.all_cost.map(|cost| cost.pad_digits().trim_zeros()),
            measured_at_s: row.measured_at_s,
            measured_at_fraction: row.measured_at_fraction,
            workload_index: row.workload_index,
        };
        for &writer in self.format.writers {
            line.environment.writer = writer;
            self.rebuilt.clear();
            let (graph, steps) = (&line.workload_key, line.steps.as_bytes());
            let environment = &line.environment;
            let write = self.format.write;
            let is_written = write(graph, steps, measurement, environment, &mut self.rebuilt);
            if self.crlf {
                self.rebuilt.push(b'\r');
            }
            if is_written && self.rebuilt == text {
                return true;
            }
        }
        if let Some(&first_writer) = self.format.writers.first() {
            line.environment.writer = first_writer;
        }
        false
    }
}
