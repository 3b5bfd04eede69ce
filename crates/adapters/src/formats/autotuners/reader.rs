//! Ingest of autotuner files. Each is read as a whole.

use std::sync::LazyLock;

use tsql_error::Result;
use tsql_formats::autotuners::{ALL, TunerFile};
use tsql_formats::{DocumentFormat, Format as _};

use super::convert;
use super::group::PendingFiles;
use super::names;
use super::parsed::{ParsedFile, TunerWork};
use crate::formats::document;
use crate::formats::format_reader::{
    Admission, AdmissionRequest, FormatDetector, FormatInput, FormatReader, InputFiles, Sink,
};
use crate::formats::platform::NO_PLATFORM;
use crate::ingest_log::IngestLog;

static FORMATS: LazyLock<Vec<&'static dyn DocumentFormat>> = LazyLock::new(|| {
    let files = ALL.iter().copied();
    files.map(|file| file as &dyn DocumentFormat).collect()
});

static DATASETS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut datasets: Vec<&str> = ALL.iter().map(|file| file.dataset()).collect();
    datasets.dedup();
    datasets
});

/// Reader of all autotuner files.
#[derive(Clone, Copy)]
pub(in crate::formats) struct TunerReader;

/// The autotuner format of a file that was admitted.
fn file_of(format: Option<&'static dyn DocumentFormat>) -> Option<&'static TunerFile> {
    TunerFile::by_name(format?.name())
}

impl FormatDetector for TunerReader {
    fn formats(&self) -> &'static [&'static dyn DocumentFormat] {
        &FORMATS
    }

    fn admit(&self, request: &AdmissionRequest<'_>) -> Result<Admission> {
        match file_of(request.format) {
            Some(file) => names::admit(file, request),
            None => Ok(Admission::Taken(None)),
        }
    }
}

impl FormatReader for TunerReader {
    type Work = TunerWork;
    type Read = ParsedFile;
    type Group = PendingFiles;

    const TABLES: &'static [&'static str] = &["records", "lines", "spaces"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn datasets(&self) -> &'static [&'static str] {
        &DATASETS
    }

    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, TunerWork>,
    ) -> Result<Option<()>> {
        let (Some(file), InputFiles::File(input, _)) = (file_of(given.format), &given.what) else {
            return Ok(Some(()));
        };
        let options = names::read_options(file, input, &given.names);
        let platform = given.platform.as_deref().unwrap_or(NO_PLATFORM);
        document::read_for(
            (file, platform),
            given,
            ledger,
            |source| file.may_be_alias(&input.name, &source.name),
            &mut |event| {
                hand(event.map(|document| TunerWork {
                    document,
                    file,
                    options: options.clone(),
                }))
            },
        )
    }

    fn parse(work: TunerWork) -> Result<ParsedFile, String> {
        convert::parse(work)
    }
}
