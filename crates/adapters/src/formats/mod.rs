//! Format adapters: conversion between the content of files and Arrow columns, one folder per format.
//!
//! The crate `tsql_formats` detects, reads and spells files. An adapter maps their content to table
//! columns. Code that handles files of all formats uses the traits [`ExportFormat`] and
//! [`FormatReader`](format_reader::FormatReader) and names no format.
//!
//! A new line-based format needs nothing here: [`lines`] handles every [`Dialect`]. Any other format is a
//! folder here, an entry in `DOCUMENTS` and one in `document_formats!`.

pub mod format_reader;
mod format_writer;
pub mod source;
mod stream_format;

pub(crate) mod budget;
pub mod configurations;
mod document;
pub mod graphs;
pub mod platform;
pub mod record_group;
mod similar_sample;
mod text_writer;
mod texts;

pub mod lines;

mod autotuners;
pub mod graphnet;
pub mod metaschedule;
mod network_info;
pub mod tpugraphs;

use tsql_error::Result;
use tsql_formats::Dialect;

use format_reader::{FormatDetector, Visitor};

pub use format_writer::{
    ExportBatch, ExportFormat, ExportOrder, FileOutput, FileProof, FormatWriter, HashCheck,
    Seekable,
};

pub use platform::NO_PLATFORM;
pub use similar_sample::{Level, SimilarSample};
pub use stream_format::StreamFormat;

/// Formats whose files are read as a whole.
static DOCUMENTS: [&dyn ExportFormat; 4] = [
    &tpugraphs::Format,
    &graphnet::Format,
    &network_info::Format,
    &metaschedule::Format,
];

/// All export formats.
pub fn all_formats() -> impl Iterator<Item = &'static dyn ExportFormat> {
    let dialects = Dialect::ALL
        .iter()
        .map(|dialect| dialect as &dyn ExportFormat);
    let tuner_files = autotuners::FORMATS.iter();
    let tuner_files = tuner_files.map(|format| format as &dyn ExportFormat);
    dialects.chain(DOCUMENTS).chain(tuner_files)
}

/// The export format of a dataset. `None` for a dataset of a later version.
pub fn format_by_dataset(dataset: &str) -> Option<&'static dyn ExportFormat> {
    all_formats().find(|room| room.dataset() == dataset)
}

/// Returns the part of a source's name that distinguishes it from others with the same bytes and labels:
/// the file name of a document, nothing of a log.
pub fn identifying_name<'a>(dataset: &str, name: &'a str) -> Option<&'a str> {
    let is_log = format_by_dataset(dataset).is_some_and(|room| room.dialect().is_some());
    let file_name = name.rsplit('/').next().unwrap_or(name);
    (!is_log).then_some(file_name)
}

/// Datasets of line-based formats, as an SQL `IN` list.
pub fn line_datasets() -> String {
    datasets(|room| room.dialect().is_some())
}

/// Datasets of the formats that satisfy a condition, as an SQL `IN` list.
pub fn datasets(of: impl Fn(&'static dyn ExportFormat) -> bool) -> String {
    let names = all_formats().filter(|room| of(*room));
    let names: Vec<String> = names.map(|room| format!("'{}'", room.dataset())).collect();
    names.join(", ")
}

macro_rules! document_formats {
    ($($room:expr),* $(,)?) => {
        /// Formats whose files are read as a whole, not line by line.
        pub const DETECTORS: &[&dyn FormatDetector] = &[$(&$room),*];

        /// Calls the visitor for each of these formats, in ingest order.
        pub async fn visit_each<V: Visitor>(visitor: &mut V) -> Result<()> {
            $(visitor.visit($room).await?;)*
            Ok(())
        }
    };
}

document_formats![
    tpugraphs::NpzReader,
    graphnet::LogReader,
    graphnet::SampleReader,
    network_info::NetworkInfoReader,
    metaschedule::WorkloadReader,
    autotuners::TunerReader,
];
