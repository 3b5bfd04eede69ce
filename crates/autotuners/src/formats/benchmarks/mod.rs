//! Result files of general benchmark tools.

mod asv;
mod cargo_criterion;
mod criterion;
mod dashboard;
mod document;
mod dotnet;
mod github_action;
mod google;
mod hyperfine;
mod jmh;
mod pytest;
mod tables;

use std::io::BufRead;

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::formats::elements::Elements;
use crate::formats::rows::Table;
use crate::output::FormatReader;

use document::{BenchmarkDocument, Collected};

type Input<'a> = Box<dyn BufRead + 'a>;

/// Opens the reader of a benchmark format and its document. A file of another kind has no records.
pub(super) fn open(format: Format, input: Input<'_>) -> (Box<dyn FormatReader + '_>, Document) {
    let reader: Box<dyn FormatReader + '_> = match format {
        Format::GoogleBenchmark => collected(input, google::Results),
        Format::CriterionSample => collected(input, criterion::Sample),
        Format::CargoCriterion => Box::new(cargo_criterion::Messages::new(input)),
        Format::PytestBenchmark => collected(input, pytest::Results),
        Format::Hyperfine => collected(input, hyperfine::Results),
        Format::Asv => collected(input, asv::Results),
        Format::Jmh => collected(input, jmh::Results),
        Format::BenchmarkDotNet => collected(input, dotnet::Report),
        Format::PytorchDashboard => collected(input, dashboard::Entries),
        Format::GithubAction => collected(input, github_action::History),
        Format::OperatorBenchmark => Box::new(Table::new(input, tables::OperatorBenchmark)),
        Format::Liger => Box::new(Table::new(input, tables::Liger)),
        Format::PerfReport => Box::new(Table::new(input, tables::PerfReport)),
        Format::Tilelang => Box::new(Table::new(input, tables::Tilelang)),
        _ => Box::new(document::Part),
    };
    (reader, Document::new(format, Coverage::AllTrials))
}

fn collected<'a>(
    input: Input<'a>,
    format: impl BenchmarkDocument + 'a,
) -> Box<dyn FormatReader + 'a> {
    Box::new(Elements::new(input, Collected::new(format)))
}
