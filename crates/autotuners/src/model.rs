//! The neutral model: one document of facts and a sequence of trials.

use std::borrow::Cow;
use std::ops::Range;

use crate::quantity::Time;
use crate::value::{Fields, Number};

/// Origin of a name that not every file states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The file states it.
    File,
    /// Derived from the path of the file.
    Path,
    /// Given by the caller.
    Option,
}

/// A name and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The name, verbatim.
    pub name: String,
    /// Its origin.
    pub origin: Origin,
}

/// Identity of the tuned computation: kernel, problem and the names of the parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    /// Name of the kernel, operator or benchmark; `None` if neither file, path nor caller names it.
    pub kernel: Option<Sourced>,
    /// The problem: sizes, types and flags by name. Empty if the file states none.
    pub problem: Fields,
    /// Sorted names of the parameters. They separate kernels of equal name and problem.
    pub parameters: Vec<String>,
}

/// Class of a failure; the number is `error_no` of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The configuration is invalid (1).
    Instantiation,
    /// Compiling for the host failed (2).
    CompileHost,
    /// Compiling for the device failed (3).
    CompileDevice,
    /// The run failed (4).
    Runtime,
    /// The result is wrong (5).
    WrongAnswer,
    /// Compiling took too long (6).
    BuildTimeout,
    /// The run took too long (7).
    RunTimeout,
    /// The source does not state why (8).
    Unknown,
}

impl FailureKind {
    /// Number of the kind, as TVM counts them.
    #[must_use]
    pub fn error_no(self) -> i32 {
        match self {
            Self::Instantiation => 1,
            Self::CompileHost => 2,
            Self::CompileDevice => 3,
            Self::Runtime => 4,
            Self::WrongAnswer => 5,
            Self::BuildTimeout => 6,
            Self::RunTimeout => 7,
            Self::Unknown => 8,
        }
    }
}

/// Result class of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The trial ran. Its time may still be missing where the objective is another quantity.
    Ok,
    /// The trial failed; it has no time.
    Failed {
        /// Class of the failure.
        kind: FailureKind,
        /// The source's word, such as `CompilationFailedConfig`.
        word: String,
        /// The source's message, if any.
        message: Option<String>,
    },
    /// The source has no measurement of the trial; it has no time.
    Unmeasured {
        /// The source's reason or spelling, such as `0` or `started`.
        reason: String,
    },
}

/// Type of a metric's value in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Written as an integer.
    Integer,
    /// Written as a decimal number.
    Float,
    /// Infinite or not a number.
    NonFinite,
}

/// A named number of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Name, as `formats/autotuners.md` lists them; counters verbatim.
    pub name: Cow<'static, str>,
    /// Unit of `value`, empty if the source states and implies none.
    pub unit: Cow<'static, str>,
    /// Position among the values of this name in the trial, from 0.
    pub index: u32,
    /// Text in the source.
    pub text: String,
    /// The number in `unit`; a text `0.9%` is the fraction 0.009.
    pub value: f64,
    /// Type in the source.
    pub kind: MetricKind,
}

impl Metric {
    /// Builds a metric with the number's text.
    #[must_use]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        number: &Number,
    ) -> Self {
        let kind = if !number.value().is_finite() {
            MetricKind::NonFinite
        } else if number.is_integer() {
            MetricKind::Integer
        } else {
            MetricKind::Float
        };
        Self {
            name: name.into(),
            unit: unit.into(),
            index: 0,
            text: number.text().to_owned(),
            value: number.value(),
            kind,
        }
    }
}

/// Single values behind a stated result.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// Name of the field in the source.
    pub name: &'static str,
    /// Unit of the values; empty where the objective is no time.
    pub unit: &'static str,
    /// Values in the order of the source.
    pub values: Vec<Number>,
}

/// One attempt to time a configuration of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Position among the trials of the file, from 0.
    pub ordinal: u64,
    /// Line on which the trial begins, from 1.
    pub line: u64,
    /// Bytes of the trial in the decompressed file.
    pub bytes: Range<u64>,
    /// Kernel, problem and names of parameters.
    pub graph: Graph,
    /// Parameters in the order of the source.
    pub configuration: Fields,
    /// Device name and its origin; `None` if unknown.
    pub platform: Option<Sourced>,
    /// Result class.
    pub status: Status,
    /// The stated result; only with [`Status::Ok`].
    pub time: Option<Time>,
    /// Single values behind the result.
    pub repeats: Option<Repeats>,
    /// Other numbers, failed trials included.
    pub metrics: Vec<Metric>,
    /// Time stamp, verbatim.
    pub timestamp: Option<String>,
    /// Other facts of the trial, verbatim: generation, log, launch sizes.
    pub attributes: Fields,
    /// Facts of the run that measured it, which may differ within a file: commit, statistic, version.
    pub run: Fields,
}

impl Trial {
    /// Builds an unmeasured trial at a position; readers fill in the rest.
    pub(crate) fn at(line: u64, bytes: Range<u64>) -> Self {
        Self {
            ordinal: 0,
            line,
            bytes,
            graph: Graph::default(),
            configuration: Fields::new(),
            platform: None,
            status: Status::Ok,
            time: None,
            repeats: None,
            metrics: Vec::new(),
            timestamp: None,
            attributes: Fields::new(),
            run: Fields::new(),
        }
    }

    /// Adds a metric; its index counts the earlier ones of the name.
    pub(crate) fn push_metric(&mut self, mut metric: Metric) {
        let earlier = self
            .metrics
            .iter()
            .rev()
            .find(|other| other.name == metric.name);
        metric.index = earlier.map_or(0, |other| other.index + 1);
        self.metrics.push(metric);
    }

    /// Marks the trial as failed.
    pub(crate) fn fail(&mut self, kind: FailureKind, word: &str) {
        self.time = None;
        self.status = Status::Failed {
            kind,
            word: word.to_owned(),
            message: None,
        };
    }

    /// Marks the trial as not measured.
    pub(crate) fn unmeasured(&mut self, reason: &str) {
        self.time = None;
        self.status = Status::Unmeasured {
            reason: reason.to_owned(),
        };
    }
}
