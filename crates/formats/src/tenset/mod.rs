//! Logs of TVM's auto_scheduler (Ansor), including the files of TenSet.
//!
//! Parses chunks of complete lines into [`LogRows`]: columns, with the graphs, environments and sketches of the chunk
//! listed once each. Every line is rebuilt from its future columns and compared with the input. If it differs, the row
//! carries its text. Lines that are not records (comments, blank or broken lines) are returned next to the rows, so
//! that nothing is lost. Other stages number configurations across chunks and write the rows.
//!
//! Format: `measure_record.cc` of TVM. Versions v0.2 to v0.6 differ in the length of the task tuple.

mod frame_cache;
pub mod networks;
mod parse;
mod render;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use ahash::RandomState;

use crate::log_context::LogContext;
use crate::record_writer::RecordWriter;
use crate::rows::{Environment, JsonWriter, LogRow, LogRows, Measurement, append_bytes, intern};
use crate::run_times::pack_run_times;
use crate::steps::StepReader;
use crate::{Format, LogFormat, chunk};

use frame_cache::FrameCache;
pub use render::LineFrame;
use tsql_codecs::identity::ProgramHash;

/// Name of the dataset and value of `--format`.
pub const NAME: &str = "tenset";

/// Log format of auto_scheduler.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "an auto_scheduler log"
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
        Box::<FrameCache>::default()
    }

    fn file_extension(&self) -> &'static str {
        "json"
    }
}

/// Whether a line looks like a line of an auto_scheduler log.
fn looks_like_record(line: &[u8]) -> bool {
    let line = line.get(..64).unwrap_or(line).iter().copied();
    let line: Vec<u8> = line.filter(|byte| !byte.is_ascii_whitespace()).collect();
    [b"{\"i\":[[".as_slice(), b"{\"r\":[[", b"{\"v\":\"v0."]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Parser of a chunk with a cache of the values that are equal in most lines.
struct TensetParser<'a> {
    /// Lines end in `\r\n`.
    crlf: bool,
    rows: LogRows,
    heads: HashMap<RawHead<'a>, Rc<ParsedHead>, RandomState>,
    graphs: HashMap<String, u32>,
    environments: HashMap<Environment, u32>,
    steps: StepReader,
    /// Writer of the previous line.
    writer: JsonWriter,
    /// Buffer for the rebuilt line.
    rebuilt: Vec<u8>,
}

/// Raw key, task and version of a line, and a candidate writer.
type RawHead<'a> = (&'a [u8], &'a [u8], &'a [u8], JsonWriter);

struct ParsedHead {
    workload_key: String,
    environment: Environment,
    frame: LineFrame,
    /// Indices of graph and environment in the rows. Set once a line was reproduced in this format.
    ids: OnceCell<(u32, u32)>,
}

/// Parses the lines of `chunk`. The last line may lack its line feed.
pub fn parse(chunk: &[u8], crlf: bool) -> LogRows {
    let mut parser = TensetParser {
        crlf,
        rows: LogRows::default(),
        heads: HashMap::default(),
        graphs: HashMap::new(),
        environments: HashMap::new(),
        steps: StepReader::default(),
        writer: JsonWriter::Tvm,
        rebuilt: Vec::new(),
    };
    let mut fields = parse::LineFields::default();
    for line in chunk::split_lines(chunk) {
        let result = chunk::read_record(line, |line| {
            parse::parse(line, &mut fields, &mut parser.steps)?;
            parser.add_record(line, &fields)
        });
        parser.rows.add_line(line, result);
    }
    parser.rows
}

impl<'a> TensetParser<'a> {
    fn add_record(&mut self, line: &'a [u8], fields: &parse::LineFields<'a>) -> Result<(), String> {
        self.parsed_head(fields, JsonWriter::Tvm)?;
        let program = ProgramHash::from_steps(self.steps.tvm_spelling(fields.steps));
        let mut row = LogRow {
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
            let packed = pack_run_times(&fields.costs)?;
            row.runtime_ns = packed.as_ref().map(|packed| packed.runtime_ns);
            row.repeat_count =
                i32::try_from(fields.costs.len()).map_err(|error| error.to_string())?;
            repeats = packed.and_then(|packed| packed.bytes);
        }
        let head = self.verify_round_trip(line, fields, &row, repeats.as_deref())?;
        row.params = append_bytes(&mut self.rows.params, self.steps.params());
        (row.graph, row.environment) = self.intern_ids(&head);
        row.sketch = self
            .steps
            .sketch_index(fields.steps, &mut self.rows.sketches);
        row.repeats = repeats.map(|bytes| append_bytes(&mut self.rows.repeats, &bytes));
        self.rows.records.push(row);
        Ok(())
    }

    fn intern_ids(&mut self, head: &ParsedHead) -> (u32, u32) {
        let rows = &mut self.rows;
        *head.ids.get_or_init(|| {
            let graph = intern(&mut self.graphs, &mut rows.graphs, &head.workload_key);
            let environment = intern(
                &mut self.environments,
                &mut rows.environments,
                &head.environment,
            );
            (graph, environment)
        })
    }

    /// Rebuilds the line from its future columns, first in the format of the previous line and then in all others. The
    /// text is stored if no format reproduces the line.
    fn verify_round_trip(
        &mut self,
        line: &[u8],
        fields: &parse::LineFields<'a>,
        row: &LogRow,
        repeats: Option<&[u8]>,
    ) -> Result<Rc<ParsedHead>, String> {
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
        let is_reproduced = self.steps.is_reproduced(fields.steps);
        let text = match line.split_last() {
            Some((b'\r', text)) if self.crlf => Some(text),
            _ => Some(line).filter(|_| !self.crlf),
        };
        if let Some(text) = text.filter(|_| is_reproduced) {
            for writer in std::iter::once(self.writer).chain(JsonWriter::ALL) {
                let head = self.parsed_head(fields, writer)?;
                let steps = self.steps.tvm_spelling(fields.steps);
                if head
                    .frame
                    .matches_line(text, steps, result, &mut self.rebuilt)
                {
                    self.writer = writer;
                    return Ok(head);
                }
            }
        }
        self.rows
            .verbatim
            .push((self.rows.records.len(), line.to_vec()));
        self.parsed_head(fields, JsonWriter::Tvm)
    }

    fn parsed_head(
        &mut self,
        fields: &parse::LineFields<'a>,
        writer: JsonWriter,
    ) -> Result<Rc<ParsedHead>, String> {
        let raw_head = (fields.key, fields.task, fields.version, writer);
        if let Some(head) = self.heads.get(&raw_head) {
            return Ok(Rc::clone(head));
        }
        let workload_key: String =
            serde_json::from_slice(fields.key).map_err(|error| error.to_string())?;
        let environment = Environment::parse(fields.task, fields.version, writer)?;
        let frame = LineFrame::new(&workload_key, &environment);
        let head = Rc::new(ParsedHead {
            workload_key,
            environment,
            frame,
            ids: OnceCell::new(),
        });
        self.heads.insert(raw_head, Rc::clone(&head));
        Ok(head)
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
    fn unusual_valid_lines_are_stored_verbatim() {
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
    fn comments_and_broken_lines_are_returned_next_to_the_records() {
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
        let texts: Vec<&[u8]> = rows
            .others
            .iter()
            .map(|other| other.text.as_slice())
            .collect();
        assert_eq!(texts.first().copied(), Some(b"# a comment".as_slice()));
    }

    #[test]
    fn logs_differ_from_other_json() {
        assert!(looks_like_record(LINE.as_bytes()));
        assert!(!looks_like_record(
            br#"{"input": ["cuda", "matmul"], "config": {}}"#
        ));
        assert!(!looks_like_record(b""));
    }
}
