//! Formats: what of each needs Arrow, a room for each.
//!
//! How files are recognised and read, and how their content is spelled, is the business of
//! `crates/formats`. A room knows which columns that content lies in. Whoever works on files of all
//! formats asks their rooms and names none of them. A new format of lines is nothing here: [`lines`] is
//! the room of each [`Dialect`]. Any other is a folder here, a line in [`DOCUMENTS`] and one in `taking!`,
//! and nothing elsewhere.

mod giving;
pub(crate) mod source;
pub(crate) mod taking;

pub(crate) mod budget;
pub(crate) mod configurations;
mod document;
pub(crate) mod graphs;
mod known;
pub(crate) mod platform;
mod texts;

pub(crate) mod lines;

pub(crate) mod graphnet;
pub(crate) mod metaschedule;
mod network_info;
pub(crate) mod tpugraphs;

use taking::{Admitting, Visitor};
use tsql_formats::Dialect;

use crate::error::Result;

pub(crate) use giving::{Giver, Giving, Order, Out, Portion, Proof, Recomputed, Seekable};

pub use known::{KnownSample, Level};
pub(crate) use platform::NO_PLATFORM;

/// Those whose files are lines.
static DIALECTS: [Dialect; Dialect::ALL.len()] = Dialect::ALL;

/// The others.
static DOCUMENTS: [&dyn Giving; 4] = [
    &tpugraphs::Room,
    &graphnet::Room,
    &network_info::Room,
    &metaschedule::Room,
];

/// The rooms of all datasets.
pub(crate) fn rooms() -> impl Iterator<Item = &'static dyn Giving> {
    let dialects = DIALECTS.iter().map(|dialect| dialect as &dyn Giving);
    dialects.chain(DOCUMENTS)
}

/// The room of a dataset; `None` for one of a later version.
pub(crate) fn room(dataset: &str) -> Option<&'static dyn Giving> {
    rooms().find(|room| room.dataset() == dataset)
}

/// Returns the part of a source's name by which it differs from others with the same bytes and labels: the file name of a document,
/// nothing of a log.
pub(crate) fn identifying_name<'a>(dataset: &str, name: &'a str) -> Option<&'a str> {
    let is_log = room(dataset).is_some_and(|room| room.dialect().is_some());
    let file_name = name.rsplit('/').next().unwrap_or(name);
    (!is_log).then_some(file_name)
}

/// The datasets whose files are lines, as the list of an SQL `IN`.
pub(crate) fn line_datasets() -> String {
    datasets(|room| room.dialect().is_some())
}

/// The datasets of rooms of a kind, as the list of an SQL `IN`.
pub(crate) fn datasets(of: impl Fn(&'static dyn Giving) -> bool) -> String {
    let names = rooms().filter(|room| of(*room));
    let names: Vec<String> = names.map(|room| format!("'{}'", room.dataset())).collect();
    names.join(", ")
}

macro_rules! taking {
    ($($room:expr),* $(,)?) => {
        /// Those whose files are read as a whole, and not line by line.
        pub(crate) const TAKING: &[&dyn Admitting] = &[$(&$room),*];

        /// Visits each of these, in the order in which they are taken in.
        pub(crate) async fn visit_each<V: Visitor>(visitor: &mut V) -> Result<()> {
            $(visitor.visit($room).await?;)*
            Ok(())
        }
    };
}

taking![
    tpugraphs::Files,
    graphnet::Logs,
    graphnet::Samples,
    network_info::Files,
    metaschedule::Workloads,
];

/// What a stream looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamFormat {
    /// auto_scheduler's lines.
    #[default]
    Tenset,
    /// Records as lines of JSON whose keys are columns: `workload_key`, `steps`, `repeats_ns`, ...
    Measured,
    /// AutoTVM's lines.
    AutoTvm,
    /// Tuning records of a MetaSchedule database, whose workloads are in a file.
    MetaSchedule,
    /// Measured records as columns, in Arrow's streaming IPC. They are kept, and given back, as lines.
    Arrow,
}

impl StreamFormat {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Tenset,
        Self::Measured,
        Self::AutoTvm,
        Self::MetaSchedule,
        Self::Arrow,
    ];

    /// What people ask for it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            lines => lines.dialect().name(),
        }
    }

    /// A stream of it in words.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Arrow => "measured records as columns, in Arrow's streaming IPC",
            lines => lines.dialect().described(),
        }
    }

    /// How its lines are read.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Tenset => Dialect::TENSET,
            Self::AutoTvm => Dialect::AUTOTVM,
            Self::MetaSchedule => Dialect::METASCHEDULE,
            Self::Measured | Self::Arrow => Dialect::MEASURED,
        }
    }
}
