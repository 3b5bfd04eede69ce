//! Format adapters: conversion between the content of files and Arrow columns, one folder per format.
//!
//! The crate `tsql_formats` detects, reads and spells files. An adapter maps their content to table
//! columns. Code that handles files of all formats uses the traits [`ExportFormat`] and
//! [`FormatReader`](format_reader::FormatReader) and names no format.
//!
//! A new line-based format needs nothing here: [`lines`] handles every [`Dialect`]. Any other format is a
//! folder here, an entry in [`DOCUMENTS`] and one in `taking!`.

pub(crate) mod format_reader;
mod format_writer;
pub(crate) mod source;

pub(crate) mod budget;
pub(crate) mod configurations;
mod document;
pub(crate) mod graphs;
mod known_sample;
pub(crate) mod platform;
mod texts;

pub(crate) mod lines;

pub(crate) mod graphnet;
pub(crate) mod metaschedule;
mod network_info;
pub(crate) mod tpugraphs;

use format_reader::{FormatDetector, Visitor};
use tsql_formats::Dialect;

use crate::error::Result;

pub(crate) use format_writer::{
    ExportBatch, ExportFormat, ExportOrder, FileOutput, FileProof, FormatWriter, HashCheck,
    Seekable,
};

pub use known_sample::{KnownSample, Level};
pub(crate) use platform::NO_PLATFORM;

/// Line-based formats.
static DIALECTS: [Dialect; Dialect::ALL.len()] = Dialect::ALL;

/// Formats whose files are read as a whole.
static DOCUMENTS: [&dyn ExportFormat; 4] = [
    &tpugraphs::Format,
    &graphnet::Format,
    &network_info::Format,
    &metaschedule::Format,
];

/// All export formats.
pub(crate) fn all_formats() -> impl Iterator<Item = &'static dyn ExportFormat> {
    let dialects = DIALECTS.iter().map(|dialect| dialect as &dyn ExportFormat);
    dialects.chain(DOCUMENTS)
}

/// The export format of a dataset. `None` for a dataset of a later version.
pub(crate) fn format_by_dataset(dataset: &str) -> Option<&'static dyn ExportFormat> {
    all_formats().find(|room| room.dataset() == dataset)
}

/// Returns the part of a source's name that distinguishes it from others with the same bytes and labels:
/// the file name of a document, nothing of a log.
pub(crate) fn identifying_name<'a>(dataset: &str, name: &'a str) -> Option<&'a str> {
    let is_log = format_by_dataset(dataset).is_some_and(|room| room.dialect().is_some());
    let file_name = name.rsplit('/').next().unwrap_or(name);
    (!is_log).then_some(file_name)
}

/// Datasets of line-based formats, as an SQL `IN` list.
pub(crate) fn line_datasets() -> String {
    datasets(|room| room.dialect().is_some())
}

/// Datasets of the formats that satisfy a condition, as an SQL `IN` list.
pub(crate) fn datasets(of: impl Fn(&'static dyn ExportFormat) -> bool) -> String {
    let names = all_formats().filter(|room| of(*room));
    let names: Vec<String> = names.map(|room| format!("'{}'", room.dataset())).collect();
    names.join(", ")
}

macro_rules! taking {
    ($($room:expr),* $(,)?) => {
        /// Formats whose files are read as a whole, not line by line.
        pub(crate) const TAKING: &[&dyn FormatDetector] = &[$(&$room),*];

        /// Calls the visitor for each of these formats, in ingest order.
        pub(crate) async fn visit_each<V: Visitor>(visitor: &mut V) -> Result<()> {
            $(visitor.visit($room).await?;)*
            Ok(())
        }
    };
}

taking![
    tpugraphs::NpzReader,
    graphnet::LogReader,
    graphnet::SampleReader,
    network_info::NetworkInfoReader,
    metaschedule::WorkloadReader,
];

/// Format of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamFormat {
    /// Lines of auto_scheduler.
    #[default]
    Tenset,
    /// Records as JSON lines whose keys are columns: `workload_key`, `steps`, `repeats_ns`, ...
    Measured,
    /// Lines of AutoTVM.
    AutoTvm,
    /// Tuning records of a MetaSchedule database. Its workloads are in a separate file.
    MetaSchedule,
    /// Measured records as columns, in Arrow's streaming IPC. They are stored and exported as lines.
    Arrow,
}

impl StreamFormat {
    /// All stream formats.
    pub const ALL: [Self; 5] = [
        Self::Tenset,
        Self::Measured,
        Self::AutoTvm,
        Self::MetaSchedule,
        Self::Arrow,
    ];

    /// Name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            lines => lines.dialect().name(),
        }
    }

    /// Description of a stream of this format.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Arrow => "measured records as columns, in Arrow's streaming IPC",
            lines => lines.dialect().description(),
        }
    }

    /// Dialect of its lines.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Tenset => Dialect::TENSET,
            Self::AutoTvm => Dialect::AUTOTVM,
            Self::MetaSchedule => Dialect::METASCHEDULE,
            Self::Measured | Self::Arrow => Dialect::MEASURED,
        }
    }
}
