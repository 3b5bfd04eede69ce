//! Benchmark logs. Each is read as a whole. For a log that has grown, only new records are ingested.
//!
//! ```text
//! text ─▶ reader ─▶ graphs, environments ─▶ configurations ─▶ texts ─▶ records ─▶ runs ─▶ sources
//! ```

mod columns;
mod group;
mod packed;
mod read;

use tsql_error::Result;
use tsql_formats::graphnet::{BenchmarkLog, NAME};
use tsql_formats::{DocumentFormat, Input};

use group::PendingRuns;
use read::{LogWork, ParsedLog};

use crate::formats::format_reader::{
    Admission, AdmissionRequest, FormatDetector, FormatInput, FormatReader, InputFiles, Sink,
};
use crate::formats::platform;
use crate::formats::platform::NO_PLATFORM;
use crate::ingest_log::IngestLog;

const NO_HARDWARE: &str = "\nhint: the log does not state the hardware; --platform NAME sets it";

/// Reader of benchmark logs.
#[derive(Clone, Copy)]
pub(crate) struct LogReader;

impl FormatDetector for LogReader {
    fn formats(&self) -> &'static [&'static dyn DocumentFormat] {
        &[&BenchmarkLog]
    }

    fn owns_exported(&self, input: &Input) -> bool {
        let was = input.exported_as(NAME);
        was.is_some_and(|file| file.platform != NO_PLATFORM)
    }

    fn admit(&self, request: &AdmissionRequest<'_>) -> Result<Admission> {
        let (input, opened, asked) = (request.input, request.opened, request.platform);
        // Directories of logs are rarely named after the hardware, so the directory name is ignored.
        let said = platform::stated_platform(asked, NAME, None, input);
        let label = match (&said, opened) {
            (None, Some(opened)) => read::find_hardware(opened, input)?,
            _ => None,
        };
        Ok(match said.or(label) {
            None => Admission::Nameless(NO_HARDWARE),
            platform => Admission::Taken(platform),
        })
    }
}

impl FormatReader for LogReader {
    type Work = LogWork;
    type Read = ParsedLog;
    type Group = PendingRuns;

    const TABLES: &'static [&'static str] = &["records", "runs"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = false;

    fn datasets(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, LogWork>,
    ) -> Result<Option<()>> {
        match (&given.what, &given.platform) {
            (InputFiles::File(input, compression), Some(platform)) => {
                read::read_log(input, *compression, platform, ledger, hand)
            }
            _ => Ok(Some(())),
        }
    }

    fn parse(work: LogWork) -> Result<ParsedLog, String> {
        read::parse(work)
    }
}
