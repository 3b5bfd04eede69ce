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
mod old;
mod render;

use crate::beside::Beside;
use crate::parser::{self, Spelling};
use crate::rows::{Rows, Writer};
use crate::spelled::Speller;
use crate::{Format, Logs};
pub(crate) use old::{OLD, is_old_record};
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

    fn parse(&self, chunk: &[u8], crlf: bool, _: &Beside) -> Rows {
        parse(chunk, crlf)
    }

    fn speller(&self) -> Box<dyn Speller> {
        Box::new(&SPELLING)
    }

    fn ending(&self) -> &'static str {
        "json"
    }
}

/// Parses the lines of `chunk`, the last of which may lack its line feed; `crlf` where they end in `\r\n`.
pub fn parse(chunk: &[u8], crlf: bool) -> Rows {
    parser::parse(chunk, crlf, &Beside::default(), &SPELLING)
}

/// How they are taken apart and put together.
static SPELLING: Spelling = Spelling {
    parse: |line, _| line::parse(line),
    write,
    writers: &[Writer::Python, Writer::PythonCompact],
};

#[cfg(test)]
mod tests;
