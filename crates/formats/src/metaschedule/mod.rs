//! Databases of TVM's MetaSchedule, which are two files: `database_tuning_record.json` has a line for each record,
//! which is read here, and `database_workload.json` one for each program that was tuned ([`workload`]).
//!
//! ```text
//! [0,[[[["GetBlock",[],["T_add","main"],["b0"]],["SamplePerfectTile",["l2"],[4,64],["v6","v7"]],...],[[4,[8,16]]]],
//!     [0.00050302899999999999784,0.00050300799999999999245],{"keys":["cpu"],"kind":"llvm","tag":""},
//!     [["TENSOR","float32",[1,128,128]]]]]
//! ```
//!
//! That is: the line of the workload in the other file, from 0; instructions of the schedule, and what was
//! decided for those that sample; seconds (`[10000000000]` where a program failed, `null` where it was not measured);
//! target; arguments. A configuration is instructions with decisions. It is one of a sketch as all steps are: numbers
//! are holes, so all that one space of schedules holds are a few sketches. A file does not say when it was
//! written, by which version, nor why a program failed.
//!
//! Run times are doubles with twenty digits, of which the last are no more than the double has: what is kept is the
//! double. A line that is spelled as TVM does, or as Python's `json.dumps` (with spaces or without) spells what it
//! read, is rebuilt from columns; any other keeps its text.
//!
//! Format: `src/meta_schedule/database` of TVM, `JSONDumps` and `AsJSON`.

mod digits;
mod key;
mod line;
mod render;
pub mod workload;

use std::collections::HashMap;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::repeats;
use tsql_codecs::sketch::Scan;

use crate::rows::{Environment, Measurement, Row, Rows, Sketch, Writer, append, intern};
use crate::{Format, Logs, chunk, steps};
use line::Line;
pub use render::write;

/// Its name as dataset and as `--format`.
pub const NAME: &str = "metaschedule";

/// Files of tuning records.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn described(&self) -> &'static str {
        "records of a MetaSchedule database"
    }
}

impl Logs for Log {
    fn begins(&self, line: &[u8]) -> bool {
        begins(line).is_some()
    }

    fn parse(&self, chunk: &[u8], crlf: bool) -> Rows {
        parse(chunk, crlf)
    }

    fn ending(&self) -> &'static str {
        "json"
    }
}

/// Does a line begin with an index and the lists of a record, a trace and instructions?
fn begins(line: &[u8]) -> Option<()> {
    let rest = line.strip_prefix(b"[")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = rest.get(digits..).filter(|_| digits > 0)?;
    for byte in b",[[[" {
        rest = rest.trim_ascii_start().strip_prefix(&[*byte])?;
    }
    Some(())
}

/// Parses the lines of `chunk`, the last of which may lack its line feed; `crlf` where they end in `\r\n`.
pub fn parse(chunk: &[u8], crlf: bool) -> Rows {
    let mut parser = Parser {
        crlf,
        ..Parser::default()
    };
    for line in chunk::lines(chunk) {
        let read = chunk::record(line, |line| parser.record(line));
        parser.rows.count(line, read);
    }
    parser.rows
}

/// Parses a chunk; remembers what its lines share.
#[derive(Default)]
struct Parser {
    crlf: bool,
    rows: Rows,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    sketches: HashMap<Sketch, u32>,
    scan: Scan,
    rebuilt: Vec<u8>,
}

impl Parser {
    fn record(&mut self, text: &[u8]) -> Result<(), String> {
        let line = Line::parse(text)?;
        let is_measured = line.costs.iter().any(|cost| cost.digits != 0);
        let packed = is_measured.then(|| repeats::pack(&line.costs)).flatten();
        let count = packed.as_ref().map_or(0, |_| line.costs.len());
        let mut row = Row {
            line: self.rows.line_count,
            graph: 0,
            environment: 0,
            sketch: 0,
            kernel: None,
            program: ProgramHash::of(line.trace.as_bytes()),
            params: (0, 0),
            runtime_ns: packed.as_ref().map(|packed| packed.runtime_ns),
            repeat_count: i32::try_from(count).map_err(|_| "too many run times".to_owned())?,
            repeats: None,
            error_no: line.error_no,
            all_cost: None,
            measured_at_s: None,
            measured_at_fraction: None,
            details: None,
        };
        let bytes = packed.and_then(|packed| packed.bytes);
        let writer = self.writer(text, &line, &row, bytes.as_deref());
        if writer.is_none() {
            let place = self.rows.records.len();
            self.rows.verbatim.push((place, text.to_vec()));
        }
        let environment = line.environment(writer.unwrap_or(Writer::TvmCompact));
        let rows = &mut self.rows;
        let mut params = Vec::new();
        let sketch = steps::sketch(&line.trace, &mut self.scan, &mut params);
        row.sketch = intern(&mut self.sketches, &mut rows.sketches, &sketch);
        row.params = append(&mut rows.params, &params);
        row.graph = intern(&mut self.graphs, &mut rows.graphs, &line.workload_key);
        row.environment = intern(&mut self.environments, &mut rows.environments, &environment);
        row.repeats = bytes.map(|bytes| append(&mut rows.repeats, &bytes));
        rows.records.push(row);
        Ok(())
    }

    /// Who spells the line so, rebuilt from what its columns will hold.
    fn writer(
        &mut self,
        text: &[u8],
        line: &Line,
        row: &Row,
        repeats: Option<&[u8]>,
    ) -> Option<Writer> {
        let measurement = Measurement {
            runtime_ns: row.runtime_ns,
            repeat_count: row.repeat_count,
            repeats,
            error_no: row.error_no,
            all_cost: None,
            measured_at_s: None,
            measured_at_fraction: None,
        };
        let (trace, graph) = (line.trace.as_bytes(), &line.workload_key);
        let writers = [Writer::TvmCompact, Writer::Python, Writer::PythonCompact];
        writers.into_iter().find(|&writer| {
            self.rebuilt.clear();
            let environment = line.environment(writer);
            let written = write(graph, trace, measurement, &environment, &mut self.rebuilt);
            if self.crlf {
                self.rebuilt.push(b'\r');
            }
            written && self.rebuilt == text
        })
    }
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
