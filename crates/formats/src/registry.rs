//! Registry of formats: a line for each. Line-based formats are in [`Dialect::ALL`], formats that are read completely in
//! [`DOCUMENTS`].

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::LazyLock;

use super::format::{DocumentFormat, LogFormat};
use super::lines::is_comment;
use super::log_context::LogContext;
use super::record_writer::RecordWriter;
use super::rows::LogRows;
use super::{autotuners, autotvm, graphnet, measured, metaschedule, tenset, tpugraphs};

/// Formats that are read completely.
pub static DOCUMENTS: LazyLock<Vec<&'static dyn DocumentFormat>> = LazyLock::new(|| {
    let own: [&dyn DocumentFormat; 6] = [
        &tpugraphs::Arrays,
        &graphnet::Samples,
        &graphnet::Hub,
        &graphnet::BenchmarkLog,
        &tenset::networks::NetworkInfo,
        &metaschedule::workload::Workloads,
    ];
    let tuner_files = autotuners::ALL.iter().copied();
    let tuner_files = tuner_files.map(|file| file as &dyn DocumentFormat);
    own.into_iter().chain(tuner_files).collect()
});

/// Dialect of a log: one of the log formats.
#[derive(Clone, Copy, Debug)]
pub struct Dialect(&'static dyn LogFormat);

impl Dialect {
    /// All dialects. If several accept a line, the first one reads it.
    pub const ALL: &'static [Self] = &[
        Self::TENSET,
        Self::MEASURED,
        Self::AUTOTVM,
        Self::METASCHEDULE,
    ];

    /// Logs of auto_scheduler.
    pub const TENSET: Self = Self(&tenset::Log);

    /// Records of [`measured`].
    pub const MEASURED: Self = Self(&measured::Log);

    /// Logs of AutoTVM.
    pub const AUTOTVM: Self = Self(&autotvm::Log);

    /// Tuning records of MetaSchedule.
    pub const METASCHEDULE: Self = Self(&metaschedule::Log);

    /// Dataset of the records.
    pub fn dataset(self) -> &'static str {
        self.0.dataset()
    }

    /// Name for `--format`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Description of a log for messages.
    pub fn description(self) -> &'static str {
        self.0.description()
    }

    /// File name extension, without the dot.
    pub fn file_extension(self) -> &'static str {
        self.0.file_extension()
    }

    /// Whether a file name looks like a log of this dialect, as TVM or users name them, compressed or not.
    pub fn matches_file_name(self, file: &str) -> bool {
        let compressed = [".gz", ".zst"].into_iter();
        let name = compressed
            .filter_map(|suffix| file.strip_suffix(suffix))
            .next();
        let (_, extension) = name.unwrap_or(file).rsplit_once('.').unwrap_or_default();
        extension == self.file_extension() || matches!(extension, "log" | "jsonl" | "ndjson")
    }

    /// Returns the dialect whose records start like the first line of a log.
    pub fn detect(head: &[u8]) -> Option<Self> {
        let mut lines = head.split(|&byte| byte == b'\n');
        let line = lines.find(|line| !is_comment(line))?;
        Self::detect_in_line(line)
    }

    /// Returns the dialect whose records start like this line.
    pub(crate) fn detect_in_line(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let mut dialects = Self::ALL.iter().copied();
        dialects.find(|dialect| dialect.0.begins_record(line))
    }

    /// Parses complete lines. The last line may lack its line feed.
    pub fn parse(self, chunk: &[u8], crlf: bool, context: &LogContext) -> LogRows {
        self.0.parse(chunk, crlf, context)
    }

    /// Writer that rebuilds the lines of stored records.
    pub fn record_writer(self) -> Box<dyn RecordWriter> {
        self.0.record_writer()
    }

    /// Whether lines contain more than graph, steps, environment and measurement.
    pub fn has_details(self) -> bool {
        self.0.has_details()
    }

    /// Name of the companion file with the graphs of the records; `None` if the log itself contains them.
    pub fn companion_file_name(self, name: &str) -> Option<String> {
        self.0.companion_file_name(name)
    }

    /// Whether lines reference graphs by their index in a companion file and are useless without it.
    pub fn needs_companion_graphs(self) -> bool {
        self.0.needs_companion_graphs()
    }

    /// Builds a companion file that contains only graph names, each at its index.
    pub fn write_companion_graphs(self, graphs: &BTreeMap<i32, String>) -> Vec<u8> {
        self.0.write_companion_graphs(graphs)
    }

    /// Reads the graph names of a companion file by line; `None` where a line has no name.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn read_graph_names(self, file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
        self.0.read_graph_names(file)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.dataset() == other.dataset()
    }
}

impl Eq for Dialect {}

/// Byte order mark that some editors put before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
