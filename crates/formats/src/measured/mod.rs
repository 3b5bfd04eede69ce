//! Records as lines of JSON: what `tsql measure` writes, and any other program that times kernels.
//!
//! ```text
//! {"workload_key": ["matmul_f32", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [1312345, 1309871.5],
//!  "measured_at": 1697658022, "environment": {"target": "c", "machine": {...}, "settings": {...}}}
//! ```
//!
//! The keys are names of columns; [`line`] lists them. A graph is a text, or a list or object of JSON;
//! so is a configuration. Lists and objects are equal whatever the order of their keys and their spaces.
//! A line that is spelled like Python's `json.dumps` (with spaces or without), its keys in the order
//! of `line::KEYS` and sorted below, is rebuilt from columns; any other keeps its text.

pub mod disturbed;
mod kernel;
mod line;
mod objects;
mod render;

use std::collections::HashMap;

use super::rows::{Details, Environment, Kernel, Measurement, Row, Rows, Writer, append, intern};
use crate::beside::Beside;
use crate::spelled::Speller;
use crate::steps::Steps;
use crate::{Format, Logs, chunk};

pub use kernel::{build, of as kernel};
use line::Line;
pub use line::VERSION;
use objects::Objects;
pub use render::write;
use tsql_codecs::identity::ProgramHash;
use tsql_codecs::repeats;

/// Its name as dataset and as `--format`.
pub const NAME: &str = "measured";

/// Its lines.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn described(&self) -> &'static str {
        "measured records"
    }
}

impl Logs for Log {
    fn begins(&self, line: &[u8]) -> bool {
        sniff(line)
    }

    fn parse(&self, chunk: &[u8], crlf: bool, _: &Beside) -> Rows {
        parse(chunk, crlf)
    }

    fn speller(&self) -> Box<dyn Speller> {
        Box::<Objects>::default()
    }

    fn has_details(&self) -> bool {
        true
    }

    fn ending(&self) -> &'static str {
        "jsonl"
    }
}

/// Does a line look like one of these?
fn sniff(line: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(line, key).is_some();
    line.starts_with(b"{") && has(b"\"workload_key\"") && has(b"\"steps\"")
}

/// Parses the lines of `chunk`, the last of which may lack its line feed.
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

#[derive(Default)]
struct Parser {
    /// Lines end in `\r\n`.
    crlf: bool,
    rows: Rows,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    kernels: HashMap<Kernel, u32>,
    /// Environments by their text, with what they say of the kernel.
    known: HashMap<String, (Environment, Kernel)>,
    steps: Steps,
    rebuilt: Vec<u8>,
}

impl Parser {
    fn record(&mut self, text: &[u8]) -> Result<(), String> {
        let text_utf8 = std::str::from_utf8(text)
            .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
        let line = Line::parse(text_utf8.trim_start_matches('\u{feff}'))?;
        let packed = repeats::pack(&line.repeats);
        let packed = packed.filter(|_| line.error_no == 0);
        let count = packed.as_ref().map_or(0, |_| line.repeats.len());
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
            measured_at_fraction: None,
            workload_index: None,
            details: None,
        };
        self.steps.read_values(&line.steps);
        let bytes = packed.and_then(|packed| packed.bytes);
        let (environment, said) = self.environment(line.environment)?;
        // What the environment says stands only there.
        let own = line.kernel.beside(&said);
        let kernel = Kernel {
            program: line.kernel.program.or(said.program),
            build: line.kernel.build.or(said.build),
        };
        row.program = kernel.hash(row.program);
        let measurement = Measurement {
            runtime_ns: row.runtime_ns,
            repeat_count: row.repeat_count,
            repeats: bytes.as_deref(),
            error_no: row.error_no,
            all_cost: row.all_cost.map(|cost| cost.padded().trimmed()),
            measured_at_s: row.measured_at_s,
            measured_at_fraction: None,
            workload_index: None,
        };
        let writer = [Writer::Python, Writer::PythonCompact]
            .into_iter()
            .find(|&writer| {
                let environment = Environment {
                    writer,
                    ..environment.clone()
                };
                self.rebuilt.clear();
                let written = write(
                    &line.workload_key,
                    line.steps.as_bytes(),
                    &own,
                    measurement,
                    &line.details,
                    &environment,
                    &mut self.rebuilt,
                );
                if self.crlf {
                    self.rebuilt.push(b'\r');
                }
                written && self.rebuilt == text
            });
        if writer.is_none() {
            let place = self.rows.records.len();
            self.rows.verbatim.push((place, text.to_vec()));
        }
        let environment = Environment {
            writer: writer.unwrap_or(Writer::Python),
            ..environment
        };
        let rows = &mut self.rows;
        row.sketch = self.steps.place(line.steps.as_bytes(), &mut rows.sketches);
        row.params = append(&mut rows.params, self.steps.params());
        row.graph = intern(&mut self.graphs, &mut rows.graphs, &line.workload_key);
        row.environment = intern(&mut self.environments, &mut rows.environments, &environment);
        if kernel != Kernel::default() {
            row.kernel = Some(intern(&mut self.kernels, &mut rows.kernels, &kernel));
        }
        row.repeats = bytes.map(|bytes| append(&mut rows.repeats, &bytes));
        if line.details != Details::default() {
            row.details = u32::try_from(rows.details.len()).ok();
            rows.details.push(line.details);
        }
        rows.records.push(row);
        Ok(())
    }

    fn environment(&mut self, text: &str) -> Result<(Environment, Kernel), String> {
        if let Some(known) = self.known.get(text) {
            return Ok(known.clone());
        }
        let environment = line::environment(text)?;
        let said = kernel::of(&environment);
        let known = (environment, said);
        self.known.insert(text.to_owned(), known.clone());
        Ok(known)
    }
}

/// Flags as older files keep them: words with commas between.
pub fn words(flags: &str) -> Vec<String> {
    let words = flags.split(',').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
