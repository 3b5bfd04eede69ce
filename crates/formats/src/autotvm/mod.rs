//! Logs of AutoTVM, which tunes templates with knobs. Supports version 0.2, which TVM has written since 0.7.
//!
//! ```text
//! {"input": ["llvm -keys=cpu ", "dense", [["TENSOR", [1, 768], "float32"], null], {}],
//!  "config": {"index": 5, "code_hash": null, "entity": [["tile_k", "sp", [-1, 8]]]},
//!  "result": [[0.0105], 0, 2.25, 1694904726.0244505], "version": 0.2, "tvm_version": "0.13.dev0"}
//! ```
//!
//! A graph is the template with its arguments, joined as in TVM's `args_to_workload`. A configuration is `config`,
//! verbatim. A line in the format of Python's `json.dumps` (with or without spaces), which TVM uses, is rebuilt from
//! columns. Any other line is stored as text.
//!
//! Format: `python/tvm/autotvm/record.py` of TVM, `encode` and `decode`.

mod line;
mod old;
mod render;

use crate::log_context::LogContext;
use crate::parser::{self, LineFormat};
use crate::record_writer::RecordWriter;
use crate::rows::{JsonWriter, LogRows};
use crate::{Format, LogFormat};
pub(crate) use old::{OLD_LOG_DESCRIPTION, is_old_record};
pub use render::write;

/// Name of the dataset and value of `--format`.
pub const NAME: &str = "autotvm";

/// Log files of AutoTVM.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "an AutoTVM log"
    }
}

impl LogFormat for Log {
    fn begins_record(&self, line: &[u8]) -> bool {
        let has = |key: &[u8]| memchr::memmem::find(line, key).is_some();
        line.starts_with(b"{") && has(b"\"input\"") && has(b"\"config\"") && has(b"\"result\"")
    }

    fn parse(&self, chunk: &[u8], crlf: bool, _: &LogContext) -> LogRows {
        parse(chunk, crlf)
    }

    fn record_writer(&self) -> Box<dyn RecordWriter> {
        Box::new(&LINE_FORMAT)
    }

    fn file_extension(&self) -> &'static str {
        "json"
    }
}

/// Parses the lines of `chunk`. The last line may lack its line feed. Set `crlf` if lines end in `\r\n`.
pub fn parse(chunk: &[u8], crlf: bool) -> LogRows {
    parser::parse(chunk, crlf, &LogContext::default(), &LINE_FORMAT)
}

/// Parser and writer of the lines.
static LINE_FORMAT: LineFormat = LineFormat {
    parse: |line, _| line::parse(line),
    write,
    writers: &[JsonWriter::Python, JsonWriter::PythonCompact],
};

#[cfg(test)]
mod tests;
