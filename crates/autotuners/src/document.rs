//! Facts of a whole file.

use crate::format::Format;
use crate::model::{Graph, Sourced};
use crate::space::Space;
use crate::value::Fields;

/// Trials that a source keeps. Rank, regret and "within 5 % of the best" have no meaning for winners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All trials, losers included.
    AllTrials,
    /// Only the best configuration of each problem.
    Winners,
    /// The best few configurations of each problem.
    BestFew,
}

/// State of the end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The reader has not reached the end.
    Unread,
    /// The file is complete.
    Closed,
    /// The writer had not closed the file; all its trials are complete. Legal for Kernel Tuner.
    Open,
    /// The file ends inside a trial or its header.
    Truncated,
}

/// Counters of the events so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Trials.
    pub trials: u64,
    /// Trials with a time.
    pub timed: u64,
    /// Failed trials.
    pub failed: u64,
    /// Trials without a measurement.
    pub unmeasured: u64,
    /// Rejected parts of the file.
    pub rejected: u64,
}

/// Facts of a file. Complete after the last event.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Format.
    pub format: Format,
    /// Version or dialect of the format, if the file states or shows it.
    pub version: Option<String>,
    /// Device of all trials and its origin.
    pub device: Option<Sourced>,
    /// Facts of the machine that the file states beside the device, verbatim.
    pub machine: Fields,
    /// Name of the optimised quantity; `time` unless the file states another.
    pub objective: String,
    /// Settings and other facts of the header, verbatim.
    pub settings: Fields,
    /// Search space, if the file states it.
    pub space: Option<Space>,
    /// Column names of a table, in order; names may repeat.
    pub header: Vec<String>,
    /// Trials that the source keeps.
    pub coverage: Coverage,
    /// State of the end.
    pub end: End,
    /// Counters.
    pub counts: Counts,
    /// Whether the content shows that the file was edited or shortened.
    pub is_edited: bool,
}

impl Document {
    pub(crate) fn new(format: Format, coverage: Coverage) -> Self {
        Self {
            format,
            version: None,
            device: None,
            machine: Fields::new(),
            objective: "time".to_owned(),
            settings: Fields::new(),
            space: None,
            header: Vec::new(),
            coverage,
            end: End::Unread,
            counts: Counts::default(),
            is_edited: false,
        }
    }
}

/// A part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Line on which the part begins, from 1.
    pub line: u64,
    /// Reason, lower case, one line.
    pub reason: String,
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.line, self.reason)
    }
}

/// Item of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A trial.
    Trial(Box<crate::model::Trial>),
    /// A graph for which the file has no trial (tokamax).
    EmptyGraph {
        /// Line, from 1.
        line: u64,
        /// The graph.
        graph: Graph,
    },
    /// A part that could not be read. The reader goes on behind it.
    Rejected(Rejected),
    /// An irregularity of a part that was read, such as a list that was shortened.
    Warning(Rejected),
}
