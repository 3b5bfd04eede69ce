//! Rows of logs: the output of all line parsers, independent of the format of the lines.
//!
//! The records of a chunk are columns. Their graphs, environments and sketches are listed once each.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::PackedRepeats;

use crate::packed_metrics::PackedMetrics;

/// Line that is not a record.
#[derive(Debug)]
pub struct OtherLine {
    /// Line in the chunk, from 0.
    pub line: u64,
    /// Reason of the rejection; `None` for comments and blank lines.
    pub reason: Option<String>,
    /// The line without its line feed.
    pub text: Vec<u8>,
}

/// Sketch with all holes open, or the text itself (`literal`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sketch {
    /// Steps as JSON.
    pub text: Vec<u8>,
    /// Whether it has no holes, so that the text is the complete steps.
    pub literal: bool,
}

/// Program and build of a configuration, as far as known. The same steps with another program or another build are
/// another configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// Name and content hash of the sources.
    pub program: Option<String>,
    /// Compiler, version, flags.
    pub build: Option<String>,
}

impl Kernel {
    /// Hash that identifies a configuration with these steps.
    pub fn hash(&self, steps: ProgramHash) -> ProgramHash {
        steps.for_kernel(self.program.as_deref(), self.build.as_deref())
    }

    /// Returns only the parts that differ from `other`.
    pub fn difference_from(&self, other: &Self) -> Self {
        let difference = |value: &Option<String>, other| value.clone().filter(|_| value != other);
        Self {
            program: difference(&self.program, &other.program),
            build: difference(&self.build, &other.build),
        }
    }
}

/// The records of a chunk, column by column.
#[derive(Debug, Default)]
pub struct LogRows {
    /// Distinct workload keys.
    pub graphs: Vec<String>,
    /// Distinct environments.
    pub environments: Vec<Environment>,
    /// Distinct sketches.
    pub sketches: Vec<Sketch>,
    /// Distinct kernels.
    pub kernels: Vec<Kernel>,
    /// One row per record.
    pub records: Vec<LogRow>,
    /// Parameters for the holes of the sketches as unsigned LEB128, concatenated for all records.
    pub params: Vec<u8>,
    /// Packed repeats, concatenated for all records.
    pub repeats: Vec<u8>,
    /// Details, which only some records have.
    pub details: Vec<RecordDetails>,
    /// Lines that the columns do not reproduce: index of the record, text.
    pub verbatim: Vec<(usize, Vec<u8>)>,
    /// Lines that are not records, in order.
    pub others: Vec<OtherLine>,
    /// Number of lines of all kinds.
    pub line_count: u64,
}

/// Record of a chunk. Indices refer to the lists of its [`LogRows`].
#[derive(Clone, Copy, Debug)]
pub struct LogRow {
    /// Line in the chunk, from 0.
    pub line: u64,
    /// Index in `LogRows::graphs`.
    pub graph: u32,
    /// Index in `LogRows::environments`.
    pub environment: u32,
    /// Index in `LogRows::sketches`.
    pub sketch: u32,
    /// Index in `LogRows::kernels`, if anything is known about the kernel.
    pub kernel: Option<u32>,
    /// Hash that distinguishes its configuration from the others of its graph.
    pub program: ProgramHash,
    /// Range in `LogRows::params`; empty for a literal sketch.
    pub params: (usize, usize),
    /// Mean of the repeats in nanoseconds; `None` for a failed record.
    pub runtime_ns: Option<f64>,
    /// Number of repeats.
    pub repeat_count: i32,
    /// Range in `LogRows::repeats`, if there is any.
    pub repeats: Option<(usize, usize)>,
    /// TVM's error number, 0 where there was no error.
    pub error_no: i16,
    /// Seconds spent on building and measuring.
    pub all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub measured_at_s: Option<i64>,
    /// Fraction of `measured_at_s` in units of 100 ns; `None` without a decimal point.
    pub measured_at_fraction: Option<i32>,
    /// Index of its graph in the companion file, from 0, if that contains the graphs.
    pub workload_index: Option<i32>,
    /// Index in `LogRows::details`, if there is any.
    pub details: Option<u32>,
}

/// Details of a record that auto_scheduler logs do not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordDetails {
    /// Message of the error.
    pub error_message: Option<String>,
    /// Runtime of the baseline.
    pub baseline_ns: Option<f64>,
    /// Processor time of each repeat.
    pub cpu: Option<PackedRepeats>,
    /// Disturbed repeats, as JSON.
    pub disturbed_repeats: Option<String>,
    /// Anomalies, as words.
    pub flags: Option<Vec<String>>,
    /// Named numbers beside the time.
    pub metrics: Option<PackedMetrics>,
    /// Other facts of the record, as a JSON object.
    pub attributes: Option<String>,
}

/// Columns of `records` from which the result of a line is rebuilt.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    /// Mean of the repeats in nanoseconds; `None` for a failed record.
    pub runtime_ns: Option<f64>,
    /// Number of repeats.
    pub repeat_count: i32,
    /// Packed repeats, if they differ from the mean.
    pub repeats: Option<&'a [u8]>,
    /// TVM's error number, 0 where there was no error.
    pub error_no: i16,
    /// Seconds spent on building and measuring.
    pub all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub measured_at_s: Option<i64>,
    /// Fraction of `measured_at_s` in units of 100 ns; `None` without a decimal point.
    pub measured_at_fraction: Option<i32>,
    /// Index of its graph in the companion file, from 0, if that contains the graphs.
    pub workload_index: Option<i32>,
}

/// JSON format of the program that wrote the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonWriter {
    /// TVM itself: `, ` and `: `, six significant digits.
    Tvm,
    /// Python's `json.dumps`: `, ` and `: `, shortest numbers, ASCII only.
    Python,
    /// Like TVM, without spaces.
    TvmCompact,
    /// Like Python with `separators=(",", ":")`.
    PythonCompact,
}

impl JsonWriter {
    /// All writers, the most frequent first.
    pub const ALL: [Self; 4] = [
        Self::Tvm,
        Self::Python,
        Self::TvmCompact,
        Self::PythonCompact,
    ];

    /// Name in the `environments` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tvm => "tvm",
            Self::Python => "python",
            Self::TvmCompact => "tvm-compact",
            Self::PythonCompact => "python-compact",
        }
    }

    /// Returns the writer with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|writer| writer.name() == name)
    }

    pub(crate) fn is_compact(self) -> bool {
        matches!(self, Self::TvmCompact | Self::PythonCompact)
    }

    pub(crate) fn is_python(self) -> bool {
        matches!(self, Self::Python | Self::PythonCompact)
    }
}

/// Machine and conditions of a measured line: a row of `environments`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Environment {
    /// TVM's target string, verbatim.
    pub target: String,
    /// Hardware parameters, in the order of the log.
    pub hardware_params: Option<Vec<i64>>,
    /// Target string of the host.
    pub target_host: Option<String>,
    /// TVM's number of the layout rewrite option.
    pub layout_rewrite_option: Option<i32>,
    /// Names of the inputs.
    pub task_input_names: Option<Vec<String>>,
    /// Version of the log: `v0.6`.
    pub log_version: String,
    /// TVM version that wrote the line, if stated.
    pub tvm_version: Option<String>,
    /// Format of the lines.
    pub writer: JsonWriter,
    /// Machine, as JSON.
    pub machine: Option<String>,
    /// Timing settings, as JSON.
    pub settings: Option<String>,
    /// Timed program, as JSON.
    pub program: Option<String>,
}

impl Environment {
    /// Creates an environment with only the writer.
    pub fn for_writer(writer: JsonWriter) -> Self {
        Self {
            target: String::new(),
            hardware_params: None,
            target_host: None,
            layout_rewrite_option: None,
            task_input_names: None,
            log_version: String::new(),
            tvm_version: None,
            writer,
            machine: None,
            settings: None,
            program: None,
        }
    }
}

impl LogRows {
    /// Counts a line. A line that is not a record is stored, with the reason if it was rejected.
    pub(crate) fn add_line(&mut self, line: &[u8], result: Result<(), Option<String>>) {
        if let Err(reason) = result {
            self.others.push(OtherLine {
                line: self.line_count,
                reason,
                text: line.to_vec(),
            });
        }
        self.line_count += 1;
    }

    /// Returns the packed parameters of a record; `None` if its sketch is literal.
    pub fn params(&self, row: &LogRow) -> Option<&[u8]> {
        let literal = self
            .sketches
            .get(row.sketch as usize)
            .is_none_or(|sketch| sketch.literal);
        self.params
            .get(row.params.0..row.params.1)
            .filter(|_| !literal)
    }

    /// Returns the kernel of a record.
    pub fn kernel(&self, row: &LogRow) -> Option<&Kernel> {
        self.kernels.get(row.kernel? as usize)
    }

    /// Returns the packed repeats of a record.
    pub fn repeats(&self, row: &LogRow) -> Option<&[u8]> {
        row.repeats
            .and_then(|(start, end)| self.repeats.get(start..end))
    }

    /// Returns the details of a record.
    pub fn details(&self, row: &LogRow) -> Option<&RecordDetails> {
        self.details.get(row.details? as usize)
    }
}

/// Appends `bytes` to `buffer` and returns their range.
pub(super) fn append_bytes(buffer: &mut Vec<u8>, bytes: &[u8]) -> (usize, usize) {
    let start = buffer.len();
    buffer.extend_from_slice(bytes);
    (start, buffer.len())
}

/// Returns the index of `item` in `list`; a new item is appended.
pub(super) fn intern<B, T>(indexes: &mut HashMap<T, u32>, list: &mut Vec<T>, item: &B) -> u32
where
    T: Borrow<B> + Eq + Hash + Clone,
    B: ToOwned<Owned = T> + Eq + Hash + ?Sized,
{
    if let Some(&index) = indexes.get(item) {
        return index;
    }
    let index = u32::try_from(list.len()).unwrap_or(u32::MAX);
    list.push(item.to_owned());
    indexes.insert(item.to_owned(), index);
    index
}
