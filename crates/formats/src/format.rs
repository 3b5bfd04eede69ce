//! Traits of file formats. Each format is a module of this crate that detects, reads and writes its files.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};

use super::log_context::LogContext;
use super::record_writer::RecordWriter;
use super::rows::LogRows;

/// A format of files.
pub trait Format: fmt::Debug + Sync {
    /// Dataset of the contents of the files.
    fn dataset(&self) -> &'static str;

    /// Name for `--format`: the dataset, unless a dataset has several kinds of files.
    fn name(&self) -> &'static str {
        self.dataset()
    }

    /// Description of one file for messages: `an auto_scheduler log`.
    fn description(&self) -> &'static str;
}

/// Log format: each line is a record or is rejected.
pub trait LogFormat: Format {
    /// Whether a line starts like a record.
    fn begins_record(&self, line: &[u8]) -> bool;

    /// Parses complete lines. The last line may lack its line feed.
    fn parse(&self, chunk: &[u8], crlf: bool, context: &LogContext) -> LogRows;

    /// Writer that rebuilds the lines of stored records.
    fn record_writer(&self) -> Box<dyn RecordWriter>;

    /// Whether lines contain more than graph, steps, environment and measurement.
    fn has_details(&self) -> bool {
        false
    }

    /// Name of the companion file with the graphs of the records; `None` if the log itself contains them.
    fn companion_file_name(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Whether lines reference graphs by their index in a companion file and are useless without it.
    fn needs_companion_graphs(&self) -> bool {
        false
    }

    /// Builds a companion file that contains only graph names, each at its index.
    fn write_companion_graphs(&self, graphs: &BTreeMap<i32, String>) -> Vec<u8> {
        let _ = graphs;
        Vec::new()
    }

    /// Reads the graph names of a companion file by line; `None` where a line has no name.
    fn read_graph_names(&self, file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
        let _ = file;
        Ok(Vec::new())
    }

    /// File name extension, without the dot.
    fn file_extension(&self) -> &'static str;
}

/// Format of files, or of folders of files, that are read completely.
pub trait DocumentFormat: Format {
    /// Whether files start with these magic bytes.
    fn has_magic(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// Whether this is text of the format. Called only if no line is a record.
    fn matches_text(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// Whether a member of this name marks an archive as an archive of this format.
    fn matches_member(&self, name: &str) -> bool {
        let _ = name;
        false
    }
}
