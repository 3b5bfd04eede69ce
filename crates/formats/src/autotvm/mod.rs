//! Logs of AutoTVM, which tunes templates with knobs: version 0.2, what TVM has written since 0.7.
//!
//! ```text
//! {"input": ["llvm -keys=cpu ", "dense", [["TENSOR", [1, 768], "float32"], null], {}],
//!  "config": {"index": 5, "code_hash": null, "entity": [["tile_k", "sp", [-1, 8]]]},
//!  "result": [[0.0105], 0, 2.25, 1694904726.0244505], "version": 0.2, "tvm_version": "0.13.dev0"}
//! ```
//!
//! A graph is the template and its arguments, as TVM's `args_to_workload` joins them; a configuration is
//! `config` as it stands. A line that is spelled like Python's `json.dumps` (with spaces or without), as TVM
//! does, is rebuilt from columns; any other keeps its text.
//!
//! Format: `python/tvm/autotvm/record.py` of TVM, `encode` and `decode`.

mod line;
mod render;

use std::collections::HashMap;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::repeats;
use tsql_codecs::sketch::Scan;

use crate::rows::{Environment, Measurement, Row, Rows, Sketch, Writer, append, intern};
use crate::{Format, Logs, chunk, steps};
use line::Line;
pub use render::write;

/// Its name as dataset and as `--format`.
pub const NAME: &str = "autotvm";

/// Its logs.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn described(&self) -> &'static str {
        "an AutoTVM log"
    }
}

impl Logs for Log {
    fn begins(&self, line: &[u8]) -> bool {
        let has = |key: &[u8]| memchr::memmem::find(line, key).is_some();
        line.starts_with(b"{") && has(b"\"input\"") && has(b"\"config\"") && has(b"\"result\"")
    }

    fn parse(&self, chunk: &[u8], crlf: bool) -> Rows {
        parse(chunk, crlf)
    }

    fn ending(&self) -> &'static str {
        "json"
    }
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
        let is_measured = line.error_no == 0 && line.costs.iter().any(|cost| cost.digits != 0);
        let packed = is_measured.then(|| repeats::pack(&line.costs)).flatten();
        let count = packed.as_ref().map_or(0, |_| line.costs.len());
        let mut row = Row {
            line: self.rows.line_count,
            graph: 0,
            environment: 0,
            sketch: 0,
            kernel: None,
            program: ProgramHash::of(line.config.as_bytes()),
            params: (0, 0),
            runtime_ns: packed.as_ref().map(|packed| packed.runtime_ns),
            repeat_count: i32::try_from(count).map_err(|_| "too many costs".to_owned())?,
            repeats: None,
            error_no: line.error_no,
            all_cost: Some(line.all_cost),
            measured_at_s: Some(line.measured_at.0),
            measured_at_fraction: line.measured_at.1,
            details: None,
        };
        let bytes = packed.and_then(|packed| packed.bytes);
        let writer = self.writer(text, &line, &row, bytes.as_deref());
        if writer.is_none() {
            let place = self.rows.records.len();
            self.rows.verbatim.push((place, text.to_vec()));
        }
        let environment = line.environment(writer.unwrap_or(Writer::Python));
        let rows = &mut self.rows;
        let mut params = Vec::new();
        let sketch = steps::sketch(&line.config, &mut self.scan, &mut params);
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
            all_cost: row.all_cost.map(|cost| cost.padded().trimmed()),
            measured_at_s: row.measured_at_s,
            measured_at_fraction: row.measured_at_fraction,
        };
        let (config, graph) = (line.config.as_bytes(), &line.workload_key);
        let mut writers = [Writer::Python, Writer::PythonCompact].into_iter();
        writers.find(|&writer| {
            self.rebuilt.clear();
            let environment = line.environment(writer);
            let written = write(graph, config, measurement, &environment, &mut self.rebuilt);
            if self.crlf {
                self.rebuilt.push(b'\r');
            }
            written && self.rebuilt == text
        })
    }
}

#[cfg(test)]
mod tests;
