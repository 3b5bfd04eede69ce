//! Chunks of a format of logs whose lines say template, configuration, times and environment, and no more.

use std::collections::HashMap;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats;

use crate::beside::Beside;
use crate::chunk;
use crate::rows::{Environment, Measurement, Row, Rows, Writer, append, intern};
use crate::spelled::{Speller, Stored};
use crate::steps::Steps;

/// What stands on a line.
#[derive(Debug)]
pub(crate) struct Line {
    /// The graph's key.
    pub(crate) workload_key: String,
    /// The configuration: JSON, with spaces as Python writes it.
    pub(crate) steps: String,
    /// Where it was measured; who spells it is not known yet.
    pub(crate) environment: Environment,
    /// Seconds, one a repeat.
    pub(crate) costs: Vec<Decimal>,
    /// TVM's `MeasureErrorNo`.
    pub(crate) error_no: i16,
    /// Seconds.
    pub(crate) all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub(crate) measured_at_s: Option<i64>,
    /// What comes after the point in these, in 100 ns, where there is a point.
    pub(crate) measured_at_fraction: Option<i32>,
    /// The line of the graph in the file beside the log, from 0, where that has the graphs.
    pub(crate) workload_index: Option<i32>,
}

/// A format of such lines.
#[derive(Debug)]
pub(crate) struct Spelling {
    /// Takes a line apart, which may refer to graphs beside its log; why it is none.
    pub(crate) parse: fn(&[u8], &Beside) -> Result<Line, String>,
    /// Appends a line without its ending from graph, configuration, result and environment; false where these
    /// cannot be spelled.
    pub(crate) write: fn(&str, &[u8], Measurement<'_>, &Environment, &mut Vec<u8>) -> bool,
    /// Who may have written a line, the most frequent first.
    pub(crate) writers: &'static [Writer],
}

impl Speller for &'static Spelling {
    fn spell(&mut self, record: &Stored<'_>, out: &mut Vec<u8>) -> bool {
        let (key, steps) = (record.workload_key, record.steps);
        (self.write)(key, steps, record.measurement, record.environment, out)
    }
}

/// Parses the lines of `chunk`, the last of which may lack its line feed; `crlf` where they end in `\r\n`. A line that
/// the columns do not give back keeps its text.
pub(crate) fn parse(
    chunk: &[u8],
    crlf: bool,
    beside: &Beside,
    spelling: &'static Spelling,
) -> Rows {
    let mut parser = Parser {
        spelling,
        crlf,
        beside,
        rows: Rows::default(),
        graphs: HashMap::new(),
        environments: HashMap::new(),
        steps: Steps::default(),
        rebuilt: Vec::new(),
    };
    for line in chunk::lines(chunk) {
        let read = chunk::record(line, |line| parser.record(line));
        parser.rows.count(line, read);
    }
    parser.rows
}

/// Parses a chunk; remembers what its lines share.
struct Parser<'a> {
    spelling: &'static Spelling,
    crlf: bool,
    beside: &'a Beside,
    rows: Rows,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    steps: Steps,
    rebuilt: Vec<u8>,
}

impl Parser<'_> {
    fn record(&mut self, text: &[u8]) -> Result<(), String> {
        let mut line = (self.spelling.parse)(text, self.beside)?;
        let is_measured = line.error_no == 0 && line.costs.iter().any(|cost| cost.digits != 0);
        let packed = is_measured.then(|| repeats::pack(&line.costs)).flatten();
        let count = packed.as_ref().map_or(0, |_| line.costs.len());
        let mut row = Row {
            line: self.rows.line_count,
            graph: 0,
            environment: 0,
            sketch: 0,
            kernel: None,
            program: ProgramHash::of(line.steps.as_bytes()),
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
        if !self.prove(text, &mut line, &row, bytes.as_deref()) {
            let place = self.rows.records.len();
            self.rows.verbatim.push((place, text.to_vec()));
        }
        let rows = &mut self.rows;
        self.steps.read_values(&line.steps);
        row.sketch = self.steps.place(line.steps.as_bytes(), &mut rows.sketches);
        row.params = append(&mut rows.params, self.steps.params());
        row.graph = intern(&mut self.graphs, &mut rows.graphs, &line.workload_key);
        let environments = &mut self.environments;
        row.environment = intern(environments, &mut rows.environments, &line.environment);
        row.repeats = bytes.map(|bytes| append(&mut rows.repeats, &bytes));
        rows.records.push(row);
        Ok(())
    }

    /// Rebuilds the line from what its columns will hold, and says in its environment who spells it so. False where
    /// nobody does.
    fn prove(&mut self, text: &[u8], line: &mut Line, row: &Row, repeats: Option<&[u8]>) -> bool {
        let measurement = Measurement {
            runtime_ns: row.runtime_ns,
            repeat_count: row.repeat_count,
            repeats,
            error_no: row.error_no,
            all_cost: row.all_cost.map(|cost| cost.padded().trimmed()),
            measured_at_s: row.measured_at_s,
            measured_at_fraction: row.measured_at_fraction,
            workload_index: row.workload_index,
        };
        for &writer in self.spelling.writers {
            line.environment.writer = writer;
            self.rebuilt.clear();
            let (graph, steps) = (&line.workload_key, line.steps.as_bytes());
            let environment = &line.environment;
            let write = self.spelling.write;
            let written = write(graph, steps, measurement, environment, &mut self.rebuilt);
            if self.crlf {
                self.rebuilt.push(b'\r');
            }
            if written && self.rebuilt == text {
                return true;
            }
        }
        if let Some(&usual) = self.spelling.writers.first() {
            line.environment.writer = usual;
        }
        false
    }
}
