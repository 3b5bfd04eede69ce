//! Logs of TVM's auto_scheduler (Ansor): TenSet's files and everybody else's.
//!
//! Takes chunks of whole lines, gives [`Rows`]: columns, with the graphs, environments and sketches
//! of the chunk listed once each. Every line is rebuilt from what the columns will hold and
//! compared with what was read; where it differs, the row carries its text. Lines that are no
//! record (comments, blank or broken ones) are given back beside the rows, none is dropped.
//! Numbering configurations across chunks and writing are other stages' work.
//!
//! Format: `measure_record.cc` of TVM; versions v0.2 to v0.6 by the length of the task tuple.

mod frames;
pub mod networks;
mod parse;
mod render;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use ahash::RandomState;

use crate::beside::Beside;
use crate::rows::{Environment, Measurement, Row, Rows, Writer, append, intern};
use crate::spelled::Speller;
use crate::steps::Steps;
use crate::{Format, Logs, chunk};

use frames::Frames;
pub use render::Frame;
use tsql_codecs::identity::ProgramHash;
use tsql_codecs::repeats;

/// Its name as dataset and as `--format`.
pub const NAME: &str = "tenset";

/// Its logs.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn described(&self) -> &'static str {
        "an auto_scheduler log"
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
        Box::<Frames>::default()
    }

    fn ending(&self) -> &'static str {
        "json"
    }
}

/// Does a line look like one of an auto_scheduler log?
fn sniff(line: &[u8]) -> bool {
    let line = line.get(..64).unwrap_or(line).iter().copied();
    let line: Vec<u8> = line.filter(|byte| !byte.is_ascii_whitespace()).collect();
    [b"{\"i\":[[".as_slice(), b"{\"r\":[[", b"{\"v\":\"v0."]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Parses a chunk; remembers between lines what most of them share.
struct Parser<'a> {
    /// Lines end in `\r\n`.
    crlf: bool,
    rows: Rows,
    known: HashMap<Raw<'a>, Rc<Known>, RandomState>,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    steps: Steps,
    /// The writer of the line before.
    writer: Writer,
    /// What of a line is rebuilt.
    rebuilt: Vec<u8>,
}

/// Key, task and version of a line as written, and who may have spelled them so.
type Raw<'a> = (&'a [u8], &'a [u8], &'a [u8], Writer);

struct Known {
    workload_key: String,
    environment: Environment,
    frame: Frame,
    /// Places of graph and environment in the rows, once a line was found to be spelled so.
    ids: OnceCell<(u32, u32)>,
}

/// Parses the lines of `chunk`, the last of which may lack its line feed.
pub fn parse(chunk: &[u8], crlf: bool) -> Rows {
    let mut parser = Parser {
        crlf,
        rows: Rows::default(),
        known: HashMap::default(),
        graphs: HashMap::new(),
        environments: HashMap::new(),
        steps: Steps::default(),
        writer: Writer::Tvm,
        rebuilt: Vec::new(),
    };
    let mut fields = parse::Fields::default();
    for line in chunk::lines(chunk) {
        let read = chunk::record(line, |line| {
            parse::parse(line, &mut fields, &mut parser.steps)?;
            parser.record(line, &fields)
        });
        parser.rows.count(line, read);
    }
    parser.rows
}

impl<'a> Parser<'a> {
    fn record(&mut self, line: &'a [u8], fields: &parse::Fields<'a>) -> Result<(), String> {
        self.known(fields, Writer::Tvm)?;
        let program = ProgramHash::of(self.steps.spelled(fields.steps));
        let mut row = Row {
            line: self.rows.line_count,
            graph: 0,
            environment: 0,
            sketch: 0,
            kernel: None,
            program,
            params: (0, 0),
            runtime_ns: None,
            repeat_count: 0,
            error_no: fields.error_no,
            all_cost: Some(fields.all_cost),
            measured_at_s: Some(fields.timestamp),
            measured_at_fraction: None,
            workload_index: None,
            details: None,
            repeats: None,
        };
        let mut repeats = None;
        if fields.error_no == 0 && fields.costs.iter().any(|cost| cost.digits != 0) {
            let packed = repeats::pack(&fields.costs);
            row.runtime_ns = packed.as_ref().map(|packed| packed.runtime_ns);
            row.repeat_count =
                i32::try_from(fields.costs.len()).map_err(|error| error.to_string())?;
            repeats = packed.and_then(|packed| packed.bytes);
        }
        let known = self.prove(line, fields, &row, repeats.as_deref())?;
        row.params = append(&mut self.rows.params, self.steps.params());
        (row.graph, row.environment) = self.ids(&known);
        row.sketch = self.steps.place(fields.steps, &mut self.rows.sketches);
        row.repeats = repeats.map(|bytes| append(&mut self.rows.repeats, &bytes));
        self.rows.records.push(row);
        Ok(())
    }

    fn ids(&mut self, known: &Known) -> (u32, u32) {
        let rows = &mut self.rows;
        *known.ids.get_or_init(|| {
            let graph = intern(&mut self.graphs, &mut rows.graphs, &known.workload_key);
            let environment = intern(
                &mut self.environments,
                &mut rows.environments,
                &known.environment,
            );
            (graph, environment)
        })
    }

    /// Rebuilds the line from what its columns will hold, in the spelling of the line before or
    /// else in any other; keeps the text where none gives the line.
    fn prove(
        &mut self,
        line: &[u8],
        fields: &parse::Fields<'a>,
        row: &Row,
        repeats: Option<&[u8]>,
    ) -> Result<Rc<Known>, String> {
        let result = Measurement {
            runtime_ns: row.runtime_ns,
            repeat_count: row.repeat_count,
            repeats,
            error_no: row.error_no,
            all_cost: row.all_cost,
            measured_at_s: row.measured_at_s,
            measured_at_fraction: None,
            workload_index: None,
        };
        let is_given_back = self.steps.is_given_back(fields.steps);
        let text = match line.split_last() {
            Some((b'\r', text)) if self.crlf => Some(text),
            _ => Some(line).filter(|_| !self.crlf),
        };
        if let Some(text) = text.filter(|_| is_given_back) {
            for writer in std::iter::once(self.writer).chain(Writer::ALL) {
                let known = self.known(fields, writer)?;
                let steps = self.steps.spelled(fields.steps);
                if known.frame.writes(text, steps, result, &mut self.rebuilt) {
                    self.writer = writer;
                    return Ok(known);
                }
            }
        }
        self.rows
            .verbatim
            .push((self.rows.records.len(), line.to_vec()));
        self.known(fields, Writer::Tvm)
    }

    fn known(&mut self, fields: &parse::Fields<'a>, writer: Writer) -> Result<Rc<Known>, String> {
        let raw = (fields.key, fields.task, fields.version, writer);
        if let Some(known) = self.known.get(&raw) {
            return Ok(Rc::clone(known));
        }
        let workload_key: String =
            serde_json::from_slice(fields.key).map_err(|error| error.to_string())?;
        let environment = Environment::parse(fields.task, fields.version, writer)?;
        let frame = Frame::new(&workload_key, &environment);
        let known = Rc::new(Known {
            workload_key,
            environment,
            frame,
            ids: OnceCell::new(),
        });
        self.known.insert(raw, Rc::clone(&known));
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"i": [["[\"mm\", 8]", "llvm -keys=cpu ", [8, 64], "", 1, []], [[], [["SP", 2, 0, 8, [4], 1], ["PR", 2, 0, "auto_unroll_max_step$64"]]]], "r": [[0.0136712, 0.0128171], 0, 0.705956, 1697658022], "v": "v0.6"}"#;

    fn writers(text: &str) -> Vec<&'static str> {
        let rows = parse(text.as_bytes(), false);
        assert!(rows.others.is_empty(), "{:?}", rows.others);
        assert!(rows.verbatim.is_empty(), "{:?}", rows.verbatim);
        rows.environments
            .iter()
            .map(|environment| environment.writer.name())
            .collect()
    }

    #[test]
    fn every_writer_is_rebuilt_from_columns() {
        let compact = LINE
            .replace(", ", ",")
            .replace(": ", ":")
            .replace("keys=cpu \"", "keys=cpu\"");
        assert_eq!(writers(LINE), ["tvm"]);
        assert_eq!(
            writers(&LINE.replace("0.0128171", "0.01281712345678901")),
            ["python"]
        );
        assert_eq!(
            writers(&compact.replace("[\\\"mm\\\",8]", "[\\\"mm\\\", 8]")),
            ["tvm-compact"]
        );
    }

    #[test]
    fn versions_differ_in_the_length_of_the_task() {
        for (task, version) in [
            (r#""llvm""#, "v0.2"),
            (r#""llvm", [8, 64, 64, 65536, 0, 0, 0, 0]"#, "v0.3"),
            (r#""llvm", [8], "llvm""#, "v0.4"),
            (r#""llvm", [8], "", 2"#, "v0.5"),
            (r#""llvm", [8], "", 0, ["a", "b"]"#, "v0.6"),
        ] {
            let line = LINE
                .replace(r#""llvm -keys=cpu ", [8, 64], "", 1, []"#, task)
                .replace("v0.6", version);
            assert_eq!(writers(&line), ["tvm"], "{line}");
        }
    }

    #[test]
    fn strange_but_valid_lines_are_kept_verbatim() {
        for line in [
            LINE.replace("0.705956", "0.7059560"),
            LINE.replace("\"v\": \"v0.6\"", "\"v\":  \"v0.6\""),
            LINE.replace("[0.0136712, 0.0128171], 0", "[0.0136712, 0.0128171], 4"),
            format!("{LINE}\r"),
        ] {
            let rows = parse(line.as_bytes(), false);
            assert_eq!(rows.records.len(), 1, "{:?}", rows.others);
            assert_eq!(rows.verbatim, [(0, line.into_bytes())]);
        }
    }

    #[test]
    fn unmeasured_and_failed_programs_have_no_runtime() {
        let text = [
            LINE.replace("[0.0136712, 0.0128171]", "[0]"),
            LINE.replace("[0.0136712, 0.0128171], 0", "[1e+10], 6"),
        ]
        .join("\r\n");
        let rows = parse(format!("{text}\r\n").as_bytes(), true);
        let results: Vec<_> = rows
            .records
            .iter()
            .map(|row| (row.runtime_ns, row.error_no))
            .collect();
        assert_eq!(results, [(None, 0), (None, 6)]);
        assert!(rows.verbatim.is_empty());
    }

    #[test]
    fn comments_and_broken_lines_stand_beside_the_records() {
        let text = format!(
            "# a comment\n\n{LINE}\n{{\"i\": 1}}\n{}",
            LINE.get(..100).unwrap()
        );
        let rows = parse(text.as_bytes(), false);
        assert_eq!((rows.line_count, rows.records.len()), (5, 1));
        let others: Vec<_> = rows
            .others
            .iter()
            .map(|other| (other.line, other.reason.is_some()))
            .collect();
        assert_eq!(others, [(0, false), (1, false), (3, true), (4, true)]);
        let back: Vec<&[u8]> = rows
            .others
            .iter()
            .map(|other| other.text.as_slice())
            .collect();
        assert_eq!(back.first().copied(), Some(b"# a comment".as_slice()));
    }

    #[test]
    fn logs_are_told_from_other_json() {
        assert!(sniff(LINE.as_bytes()));
        assert!(!sniff(br#"{"input": ["cuda", "matmul"], "config": {}}"#));
        assert!(!sniff(b""));
    }
}
