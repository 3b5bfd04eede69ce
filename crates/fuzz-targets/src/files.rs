//! File format readers.

use std::collections::BTreeMap;
use std::io::{Cursor, sink};

use tsql_adapters::arrow_lines;
use tsql_formats::graphnet::log::LogParser;
use tsql_formats::graphnet::log::lines::{RunColumns, pack, unpack};
use tsql_formats::graphnet::sample::{self, SampleFile};
use tsql_formats::log_context::LogContext;
use tsql_formats::{Dialect, Head, tpugraphs};

use super::rows;

/// Lines of a log. A line without stored text is rebuilt from its columns, byte for byte.
pub(super) fn lines(dialect: Dialect, bytes: &[u8]) {
    for crlf in [false, true] {
        let rows = dialect.parse(bytes, crlf, &LogContext::default());
        rows::check_rows(&rows, bytes);
        rows::check_rebuilt_lines(dialect, &rows, bytes, crlf);
    }
}

/// A TpuGraphs file.
pub(super) fn npz(bytes: &[u8]) {
    let _ = tpugraphs::describe_foreign_npz(Cursor::new(bytes));
    let _ = tpugraphs::read(Cursor::new(bytes));
}

/// Prefix of a line with the name of the file that follows.
const FILE: &str = "#@ ";

/// Files of a GraphNet sample. Columns that claim to restore a file do so.
pub(super) fn sample(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let files = text.split(FILE).filter_map(|file| file.split_once('\n'));
    let files = files.map(|(name, text)| SampleFile::new(name.to_owned(), text.into()));
    // Names in a folder are unique.
    let files: BTreeMap<String, SampleFile> = files.map(|file| (file.name.clone(), file)).collect();
    let files: Vec<SampleFile> = files.into_values().collect();
    let taken = sample::read(&files);
    for (file, &(place, rebuilt)) in files.iter().zip(&taken.files) {
        let name = file.name.rsplit('/').next().unwrap_or_default();
        if rebuilt && let Some(text) = taken.samples[place].file(name) {
            assert_eq!(text, String::from_utf8_lossy(&file.bytes), "{}", file.name);
        }
    }
}

/// A GraphNet benchmark log. Its lines are restored from its runs.
pub(super) fn benchmark_log(bytes: &[u8]) {
    let mut parser = LogParser::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        parser.push_line(line);
    }
    for run in parser.finish() {
        let said = RunColumns::from_run(&run);
        let packed = pack(&said, bytes);
        if let Some(text) = unpack(&said, &packed) {
            // Packing checks that unpacking restores the text. Here, memory must stay small.
            assert!(text.len() <= bytes.len() + (1 << 20));
        }
        // As if packed by another writer.
        let _ = unpack(&said, bytes);
    }
}

/// A stream of Arrow batches.
pub(super) fn arrow(bytes: &[u8]) {
    let _ = arrow_lines::write_lines(bytes, sink());
}

/// Detection of a file's format.
pub(super) fn detect_format(bytes: &[u8]) {
    let _ = Head::new(bytes).detect();
}
