//! Samples. A directory of files is ingested as a whole.
//!
//! ```text
//! directories, tar, Parquet ─▶ find ─▶ read ─▶ node types ─▶ graphs ─▶ samples ─▶ texts ─▶ sources
//! ```
//!
//! All rows except those of the ingest log are identified by their content. The next run finds the rows
//! that a crash has left, so nothing is stored twice.

mod columns;
mod find;
mod group;
mod hub;
mod member;
mod read;

use tsql_error::Result;
use tsql_formats::autotuners::FileNames;
use tsql_formats::{DocumentFormat, FileDescription, Input, graphnet};

use group::PendingSamples;
use read::{ParsedInput, Reader, SampleWork};

use crate::formats::format_reader::{
    Admission, AdmissionRequest, ArchiveContents, FormatDetector, FormatInput, FormatReader,
    InputFiles, Sink,
};
use crate::ingest_log::IngestLog;

/// Reader of samples.
#[derive(Clone, Copy)]
pub(crate) struct SampleReader;

impl FormatDetector for SampleReader {
    fn formats(&self) -> &'static [&'static dyn DocumentFormat] {
        &[&graphnet::Samples, &graphnet::Hub]
    }

    fn needs_whole_archive(&self) -> bool {
        true
    }

    /// Accepts all members: files outside of samples are stored too.
    fn archive_contents(&self, members: Vec<Input>) -> ArchiveContents {
        let (mut taken, others) = find::split_samples(members);
        taken.extend(others.into_iter().map(InputFiles::Loose));
        ArchiveContents {
            taken,
            others: Vec::new(),
        }
    }

    fn split_folders(&self, found: Vec<Input>) -> (Vec<FormatInput>, Vec<Input>) {
        let (samples, others) = find::split_samples(found);
        let given = |what| FormatInput {
            what,
            platform: None,
            format: None,
            names: FileNames::default(),
        };
        (samples.into_iter().map(given).collect(), others)
    }

    fn owns_exported(&self, input: &Input) -> bool {
        find::is_loose(input)
    }

    fn admit(&self, request: &AdmissionRequest<'_>) -> Result<Admission> {
        let (input, opened) = (request.input, request.opened);
        let is_taken = input.explicit || opened.is_none_or(hub::is_hub_file);
        Ok(if is_taken {
            Admission::Taken(None)
        } else {
            Admission::Skipped(FileDescription::new("a Parquet file"))
        })
    }
}

impl FormatReader for SampleReader {
    type Work = SampleWork;
    type Read = ParsedInput;
    type Group = PendingSamples;

    const TABLES: &'static [&'static str] = &[];
    const QUEUE: (usize, usize) = (2, 4);
    const IS_STRICT: bool = true;

    fn datasets(&self) -> &'static [&'static str] {
        &[graphnet::NAME]
    }

    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, SampleWork>,
    ) -> Result<Option<()>> {
        Reader { ledger, hand }.read(&given.what)
    }

    fn parse(work: SampleWork) -> Result<ParsedInput, String> {
        Ok(read::parse(work))
    }
}
