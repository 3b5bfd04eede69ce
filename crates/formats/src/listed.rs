//! The lists of formats. A new one is a line in [`Dialect::ALL`] where its files are lines, in [`DOCUMENTS`]
//! where they are read as a whole.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use super::beside::Beside;
use super::format::{Documents, Logs};
use super::lines::is_comment;
use super::rows::Rows;
use super::spelled::Speller;
use super::{autotvm, graphnet, measured, metaschedule, tenset, tpugraphs};

/// The formats that are read as a whole.
pub const DOCUMENTS: [&dyn Documents; 6] = [
    &tpugraphs::Arrays,
    &graphnet::Samples,
    &graphnet::Hub,
    &graphnet::BenchmarkLog,
    &tenset::networks::NetworkInfo,
    &metaschedule::workload::Workloads,
];

/// What the lines of a log look like: one of the formats of logs.
#[derive(Clone, Copy, Debug)]
pub struct Dialect(&'static dyn Logs);

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::TENSET,
        Self::MEASURED,
        Self::AUTOTVM,
        Self::METASCHEDULE,
    ];

    /// auto_scheduler's.
    pub const TENSET: Self = Self(&tenset::Log);

    /// Those of [`measured`].
    pub const MEASURED: Self = Self(&measured::Log);

    /// AutoTVM's.
    pub const AUTOTVM: Self = Self(&autotvm::Log);

    /// That of MetaSchedule's tuning records.
    pub const METASCHEDULE: Self = Self(&metaschedule::Log);

    /// The dataset of its records.
    pub fn dataset(self) -> &'static str {
        self.0.dataset()
    }

    /// What people ask for it by.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// A log in words.
    pub fn described(self) -> &'static str {
        self.0.described()
    }

    /// How the names of its files end.
    pub fn ending(self) -> &'static str {
        self.0.ending()
    }

    /// Has a file the name of a log, as TVM or people name them, compressed or not?
    pub fn is_named_like(self, file: &str) -> bool {
        let packed = [".gz", ".zst"].into_iter();
        let name = packed.filter_map(|ending| file.strip_suffix(ending)).next();
        let (_, ending) = name.unwrap_or(file).rsplit_once('.').unwrap_or_default();
        ending == self.ending() || matches!(ending, "log" | "jsonl" | "ndjson")
    }

    /// The one that the first line of a log begins like.
    pub fn of(head: &[u8]) -> Option<Self> {
        let mut lines = head.split(|&byte| byte == b'\n');
        let line = lines.find(|line| !is_comment(line))?;
        Self::that_begins(line)
    }

    /// The one in which a line begins like a record.
    pub(crate) fn that_begins(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| dialect.0.begins(line))
    }

    /// The rows of whole lines, the last of which may lack its line feed.
    pub fn parse(self, chunk: &[u8], crlf: bool, beside: &Beside) -> Rows {
        self.0.parse(chunk, crlf, beside)
    }

    /// What spells its records again.
    pub fn speller(self) -> Box<dyn Speller> {
        self.0.speller()
    }

    /// Do its lines say more than their graph, steps, environment and measurement?
    pub fn has_details(self) -> bool {
        self.0.has_details()
    }

    /// The name of the file beside a log that has the graphs of its records; `None` where the log itself has them.
    pub fn beside(self, name: &str) -> Option<String> {
        self.0.beside(name)
    }

    /// Whether lines name their graphs by their places in another file, so that they mean nothing without it.
    pub fn needs_graphs_beside(self) -> bool {
        self.0.needs_graphs_beside()
    }

    /// The text of such a file that only names graphs, these by their places, so that lines have them.
    pub fn graph_names(self, graphs: &BTreeMap<i32, String>) -> Vec<u8> {
        self.0.graph_names(graphs)
    }

    /// The names of the graphs in such a file, by their lines, as far as it says them.
    ///
    /// # Errors
    /// What fails to be read.
    pub fn graphs(self, file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
        self.0.graphs(file)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.dataset() == other.dataset()
    }
}

impl Eq for Dialect {}

/// What some editors put before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
