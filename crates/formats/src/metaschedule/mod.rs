//! Databases of TVM's MetaSchedule. A database is two files: `database_tuning_record.json` has one line per record and
//! is read here; `database_workload.json` has one line per tuned program ([`workload`]).
//!
//! ```text
//! [0,[[[["GetBlock",[],["T_add","main"],["b0"]],["SamplePerfectTile",["l2"],[4,64],["v6","v7"]],...],[[4,[8,16]]]],
//!     [0.00050302899999999999784,0.00050300799999999999245],{"keys":["cpu"],"kind":"llvm","tag":""},
//!     [["TENSOR","float32",[1,128,128]]]]]
//! ```
//!
//! The fields are: line number of the workload in the other file, from 0; instructions of the schedule and the
//! decisions of its sampling instructions; seconds (`[10000000000]` for a failed program, `null` if not measured);
//! target; arguments. A configuration is instructions with decisions. Its numbers are the holes of a sketch, so a
//! schedule space needs only a few sketches. A file does not contain the time of writing, the TVM version or the reason
//! of a failure.
//!
//! Run times are doubles printed with twenty digits; only the double is stored. A line in the format of TVM, or in the
//! format of Python's `json.dumps` (with or without spaces) for the same values, is rebuilt from columns. Any other
//! line is stored as text.
//!
//! Format: `src/meta_schedule/database` of TVM, `JSONDumps` and `AsJSON`.

mod digits;
mod key;
mod line;
mod render;
mod renumber;
pub mod workload;

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use crate::log_context::LogContext;
use crate::parser::{self, LineFormat};
use crate::record_writer::RecordWriter;
use crate::rows::{JsonWriter, LogRows};
use crate::{Format, LogFormat};
pub use key::{structural_hash, workload_place};
pub use render::write;
pub use renumber::renumber;

/// Name of the dataset and value of `--format`.
pub const NAME: &str = "metaschedule";

/// Limit of workloads, more than any database has.
const MAX_WORKLOADS: i32 = 1 << 20;

/// TVM's name of the file with the records of a database.
pub const RECORDS_FILE: &str = "database_tuning_record.json";

/// TVM's name of the file with the workloads of a database.
pub const WORKLOADS_FILE: &str = "database_workload.json";

/// Parts in which the names of the two files of a database differ.
const RECORDS_NAME_PART: &str = "tuning_record";
const WORKLOADS_NAME_PART: &str = "workload";

/// Log format of tuning records.
#[derive(Debug)]
pub struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "records of a MetaSchedule database"
    }
}

impl LogFormat for Log {
    fn begins_record(&self, line: &[u8]) -> bool {
        match_record_start(line).is_some()
    }

    fn parse(&self, chunk: &[u8], crlf: bool, context: &LogContext) -> LogRows {
        parse(chunk, crlf, context)
    }

    /// `database_workload.json` for `database_tuning_record.json`, the names that TVM uses.
    fn companion_file_name(&self, name: &str) -> Option<String> {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let has_records = name.contains(RECORDS_NAME_PART);
        has_records.then(|| name.replace(RECORDS_NAME_PART, WORKLOADS_NAME_PART))
    }

    fn needs_companion_graphs(&self) -> bool {
        true
    }

    /// Writes one line per index up to the last one, with the structural hash if known.
    fn write_companion_graphs(&self, graphs: &BTreeMap<i32, String>) -> Vec<u8> {
        let mut text = Vec::new();
        let mut next = 0;
        let has_hashes = graphs.values().any(|key| structural_hash(key).is_some());
        for (&index, key) in graphs.range(..MAX_WORKLOADS).filter(|_| has_hashes) {
            while next < index {
                text.extend_from_slice(b"[]\n");
                next += 1;
            }
            if let Some(hash) = structural_hash(key) {
                text.extend_from_slice(format!("[\"{hash}\",\"\"]\n").as_bytes());
            } else {
                text.extend_from_slice(b"[]\n");
            }
            next = index.saturating_add(1);
        }
        text
    }

    fn read_graph_names(&self, file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
        workload::read_hashes(file)
    }

    fn record_writer(&self) -> Box<dyn RecordWriter> {
        Box::new(&LINE_FORMAT)
    }

    fn file_extension(&self) -> &'static str {
        "json"
    }
}

/// Whether a line starts with an index and the nested lists of record, trace and instructions.
fn match_record_start(line: &[u8]) -> Option<()> {
    let rest = line.strip_prefix(b"[")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = rest.get(digits..).filter(|_| digits > 0)?;
    for byte in b",[[[" {
        rest = rest.trim_ascii_start().strip_prefix(&[*byte])?;
    }
    Some(())
}

/// Parses the lines of `chunk`. The last line may lack its line feed; set `crlf` if lines end in `\r\n`. The workloads
/// are in the companion file.
pub fn parse(chunk: &[u8], crlf: bool, context: &LogContext) -> LogRows {
    parser::parse(chunk, crlf, context, &LINE_FORMAT)
}

/// Parser and writer of the lines.
static LINE_FORMAT: LineFormat = LineFormat {
    parse: line::parse,
    write,
    writers: &[
        JsonWriter::TvmCompact,
        JsonWriter::Python,
        JsonWriter::PythonCompact,
    ],
};

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
