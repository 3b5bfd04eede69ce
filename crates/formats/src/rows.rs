//! Rows of logs: what the readers of lines give, whatever the lines look like.
//!
//! The records of a chunk are columns, with its graphs, environments and sketches listed once each.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::Packed;

/// A line that is no record.
#[derive(Debug)]
pub struct OtherLine {
    /// Line in the chunk, from 0.
    pub line: u64,
    /// Why it was refused; `None` for comments and blank lines.
    pub reason: Option<String>,
    /// The line without its line feed.
    pub text: Vec<u8>,
}

/// A sketch with all its holes open, or the text itself (`literal`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sketch {
    /// Steps as JSON.
    pub text: Vec<u8>,
    /// It has no holes: the text is all of the steps.
    pub literal: bool,
}

/// What the code of a configuration was made of, as far as that is known: of the same steps another
/// program, or another build, is another configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// Name and content hash of its sources.
    pub program: Option<String>,
    /// Compiler, version, flags.
    pub build: Option<String>,
}

impl Kernel {
    /// What tells a configuration with these steps apart.
    pub fn hash(&self, steps: ProgramHash) -> ProgramHash {
        steps.of_kernel(self.program.as_deref(), self.build.as_deref())
    }

    /// Only what is not the same in `other`.
    pub fn beside(&self, other: &Self) -> Self {
        let differs = |own: &Option<String>, other| own.clone().filter(|_| own != other);
        Self {
            program: differs(&self.program, &other.program),
            build: differs(&self.build, &other.build),
        }
    }
}

/// The records of a chunk, column by column.
#[derive(Debug, Default)]
pub struct Rows {
    /// Distinct workload keys.
    pub graphs: Vec<String>,
    /// Distinct environments.
    pub environments: Vec<Environment>,
    /// Distinct sketches.
    pub sketches: Vec<Sketch>,
    /// Distinct kernels.
    pub kernels: Vec<Kernel>,
    /// One for each record.
    pub records: Vec<Row>,
    /// What fills the sketches' holes as unsigned LEB128, all records' after each other.
    pub params: Vec<u8>,
    /// Packed repeats, all records' after each other.
    pub repeats: Vec<u8>,
    /// What only some records have.
    pub details: Vec<Details>,
    /// Lines that the columns do not rebuild: index of the record, text.
    pub verbatim: Vec<(usize, Vec<u8>)>,
    /// Lines that are no record, in order.
    pub others: Vec<OtherLine>,
    /// Lines of all kinds.
    pub line_count: u64,
}

/// One record of a chunk. Indexes point into the lists of its [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Line in the chunk, from 0.
    pub line: u64,
    /// Its place in `Rows::graphs`.
    pub graph: u32,
    /// Its place in `Rows::environments`.
    pub environment: u32,
    /// Its place in `Rows::sketches`.
    pub sketch: u32,
    /// Its place in `Rows::kernels`, where anything is known of it.
    pub kernel: Option<u32>,
    /// What tells its configuration apart from the others of its graph.
    pub program: ProgramHash,
    /// Its bytes in `Rows::params`; none for a literal sketch.
    pub params: (usize, usize),
    /// Mean of its repeats; `None` for a failed one.
    pub runtime_ns: Option<f64>,
    /// How many repeats it has.
    pub repeat_count: i32,
    /// Its bytes in `Rows::repeats`, where it has any.
    pub repeats: Option<(usize, usize)>,
    /// TVM's error number, 0 where there was no error.
    pub error_no: i16,
    /// Seconds.
    pub all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub measured_at_s: Option<i64>,
    /// What comes after the point in these, in 100 ns; `None` where there is no point.
    pub measured_at_fraction: Option<i32>,
    /// The line of its graph in the file beside its log, from 0, where that has the graphs.
    pub workload_index: Option<i32>,
    /// Its place in `Rows::details`, where it has any.
    pub details: Option<u32>,
}

/// What logs of auto_scheduler do not say of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// What the error says.
    pub error_message: Option<String>,
    /// Runtime of what it is compared with.
    pub baseline_ns: Option<f64>,
    /// Processor time of each repeat.
    pub cpu: Option<Packed>,
    /// Repeats that do not count, as JSON.
    pub disturbed_repeats: Option<String>,
    /// What was odd, in words.
    pub flags: Option<Vec<String>>,
}

/// The columns of `records` that a line's result is rebuilt from.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    /// Mean of the repeats; `None` for a failed one.
    pub runtime_ns: Option<f64>,
    /// How many repeats there are.
    pub repeat_count: i32,
    /// Packed ones, where they differ from the mean.
    pub repeats: Option<&'a [u8]>,
    /// TVM's error number, 0 where there was no error.
    pub error_no: i16,
    /// Seconds.
    pub all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub measured_at_s: Option<i64>,
    /// What comes after the point in these, in 100 ns; `None` where there is no point.
    pub measured_at_fraction: Option<i32>,
    /// The line of its graph in the file beside its log, from 0, where that has the graphs.
    pub workload_index: Option<i32>,
}

/// How the program that wrote the line spells JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writer {
    /// TVM itself: `, ` and `: `, six significant digits.
    Tvm,
    /// Python's `json.dumps`: `, ` and `: `, shortest numbers, ASCII only.
    Python,
    /// As TVM, without spaces.
    TvmCompact,
    /// As Python with `separators=(",", ":")`.
    PythonCompact,
}

impl Writer {
    /// All of them, the most frequent first.
    pub const ALL: [Self; 4] = [
        Self::Tvm,
        Self::Python,
        Self::TvmCompact,
        Self::PythonCompact,
    ];

    /// Its name in the `environments` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tvm => "tvm",
            Self::Python => "python",
            Self::TvmCompact => "tvm-compact",
            Self::PythonCompact => "python-compact",
        }
    }

    /// The writer of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|writer| writer.name() == name)
    }

    pub(crate) fn is_compact(self) -> bool {
        matches!(self, Self::TvmCompact | Self::PythonCompact)
    }

    pub(crate) fn is_python(self) -> bool {
        matches!(self, Self::Python | Self::PythonCompact)
    }
}

/// What a line says of where and how it was measured: a row of `environments`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Environment {
    /// TVM's target string, verbatim.
    pub target: String,
    /// Numbers of the hardware, in the order of the log.
    pub hardware_params: Option<Vec<i64>>,
    /// Target string of the host.
    pub target_host: Option<String>,
    /// TVM's number of the option.
    pub layout_rewrite_option: Option<i32>,
    /// Names of the inputs.
    pub task_input_names: Option<Vec<String>>,
    /// Version of the log: `v0.6`.
    pub log_version: String,
    /// Version of the TVM that wrote the line, where it says so.
    pub tvm_version: Option<String>,
    /// How its lines are spelled.
    pub writer: Writer,
    /// The machine, as JSON.
    pub machine: Option<String>,
    /// How it was timed, as JSON.
    pub settings: Option<String>,
    /// What was timed, as JSON.
    pub program: Option<String>,
}

impl Environment {
    /// One that nothing is said of but who spells its lines.
    pub fn of(writer: Writer) -> Self {
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

impl Rows {
    /// Counts a line that was read; keeps it where it is no record, and why it is refused, if it is.
    pub(crate) fn count(&mut self, line: &[u8], read: Result<(), Option<String>>) {
        if let Err(reason) = read {
            self.others.push(OtherLine {
                line: self.line_count,
                reason,
                text: line.to_vec(),
            });
        }
        self.line_count += 1;
    }

    /// The packed numbers of a record, `None` where its sketch is the text itself.
    pub fn params(&self, row: &Row) -> Option<&[u8]> {
        let literal = self
            .sketches
            .get(row.sketch as usize)
            .is_none_or(|sketch| sketch.literal);
        self.params
            .get(row.params.0..row.params.1)
            .filter(|_| !literal)
    }

    /// What is known of the kernel of a record.
    pub fn kernel(&self, row: &Row) -> Option<&Kernel> {
        self.kernels.get(row.kernel? as usize)
    }

    /// The packed repeats of a record.
    pub fn repeats(&self, row: &Row) -> Option<&[u8]> {
        row.repeats
            .and_then(|(start, end)| self.repeats.get(start..end))
    }

    /// What else is known of a record.
    pub fn details(&self, row: &Row) -> Option<&Details> {
        self.details.get(row.details? as usize)
    }
}

/// Appends `bytes` to `all`; returns where they lie.
pub(super) fn append(all: &mut Vec<u8>, bytes: &[u8]) -> (usize, usize) {
    let start = all.len();
    all.extend_from_slice(bytes);
    (start, all.len())
}

/// The place of `item` in `list`, where it is put if it is new.
pub(super) fn intern<B, T>(places: &mut HashMap<T, u32>, list: &mut Vec<T>, item: &B) -> u32
where
    T: Borrow<B> + Eq + Hash + Clone,
    B: ToOwned<Owned = T> + Eq + Hash + ?Sized,
{
    if let Some(&place) = places.get(item) {
        return place;
    }
    let place = u32::try_from(list.len()).unwrap_or(u32::MAX);
    list.push(item.to_owned());
    places.insert(item.to_owned(), place);
    place
}
