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
mod renumber;
pub mod workload;

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use crate::beside::Beside;
use crate::parser::{self, Spelling};
use crate::rows::{Rows, Writer};
use crate::spelled::Speller;
use crate::{Format, Logs};
pub use key::{structural_hash, workload_place};
pub use render::write;
pub use renumber::renumber;

/// Its name as dataset and as `--format`.
pub const NAME: &str = "metaschedule";

/// More workloads than any database has.
const MOST_WORKLOADS: i32 = 1 << 20;

/// The file of a database with its records, as TVM names it.
pub const RECORDS_FILE: &str = "database_tuning_record.json";

/// The file of a database with its workloads, as TVM names it.
pub const WORKLOADS_FILE: &str = "database_workload.json";

/// What the names of both files of a database have, each at the same place.
const RECORDS: &str = "tuning_record";
const WORKLOADS: &str = "workload";

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

    fn parse(&self, chunk: &[u8], crlf: bool, beside: &Beside) -> Rows {
        parse(chunk, crlf, beside)
    }

    /// `database_workload.json` beside `database_tuning_record.json`, as TVM names them.
    fn beside(&self, name: &str) -> Option<String> {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let has_records = name.contains(RECORDS);
        has_records.then(|| name.replace(RECORDS, WORKLOADS))
    }

    fn needs_graphs_beside(&self) -> bool {
        true
    }

    /// A line for each place up to the last one, with the structural hash where that is known.
    fn graph_names(&self, graphs: &BTreeMap<i32, String>) -> Vec<u8> {
        let mut text = Vec::new();
        let mut next = 0;
        let hashed = graphs.values().any(|key| structural_hash(key).is_some());
        for (&place, key) in graphs.range(..MOST_WORKLOADS).filter(|_| hashed) {
            while next < place {
                text.extend_from_slice(b"[]\n");
                next += 1;
            }
            if let Some(hash) = structural_hash(key) {
                text.extend_from_slice(format!("[\"{hash}\",\"\"]\n").as_bytes());
            } else {
                text.extend_from_slice(b"[]\n");
            }
            next = place.saturating_add(1);
        }
        text
    }

    fn graphs(&self, file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
        workload::hashes(file)
    }

    fn speller(&self) -> Box<dyn Speller> {
        Box::new(&SPELLING)
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

/// Parses the lines of `chunk`, the last of which may lack its line feed; `crlf` where they end in `\r\n`. Their
/// workloads are in the file beside theirs.
pub fn parse(chunk: &[u8], crlf: bool, beside: &Beside) -> Rows {
    parser::parse(chunk, crlf, beside, &SPELLING)
}

/// How they are taken apart and put together.
static SPELLING: Spelling = Spelling {
    parse: line::parse,
    write,
    writers: &[Writer::TvmCompact, Writer::Python, Writer::PythonCompact],
};

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
