//! Ingest of npz files, also from tar archives. Each is accepted or rejected as a whole.

mod columns;
mod group;
mod parsed;
mod read;

use std::io::BufReader;

use tsql_error::Result;
use tsql_formats::tpugraphs::{self, Arrays, NAME, PLATFORM};
use tsql_formats::{DocumentFormat, Input};

use group::PendingDocuments;
use read::{DocumentWork, ParsedDocument};

use crate::formats::format_reader::{
    Admission, AdmissionRequest, ArchiveContents, FormatDetector, FormatInput, FormatReader,
    InputFiles, Sink,
};
use crate::formats::platform;
use crate::ingest_log::IngestLog;

/// Reader of npz files.
#[derive(Clone, Copy)]
pub(crate) struct NpzReader;

impl FormatDetector for NpzReader {
    fn formats(&self) -> &'static [&'static dyn DocumentFormat] {
        &[&Arrays]
    }

    fn archive_contents(&self, members: Vec<Input>) -> ArchiveContents {
        let mut contents = ArchiveContents::default();
        for member in members {
            let is_array = Arrays.matches_member(&member.name);
            let other = if is_array {
                member
                    .open_file()
                    .ok()
                    .and_then(|opened| read::detect_foreign(&opened))
            } else {
                Some(read::describe_other_file(&member))
            };
            match other {
                None => contents.taken.push(InputFiles::File(member, None)),
                Some(looks) => contents.others.push((member, looks)),
            }
        }
        contents
    }

    fn admit(&self, request: &AdmissionRequest<'_>) -> Result<Admission> {
        let (input, opened, asked) = (request.input, request.opened, request.platform);
        if let Some(looks) = opened.and_then(read::detect_foreign) {
            return Ok(Admission::Skipped(looks));
        }
        let platform = platform::stated_platform(asked, NAME, Some(PLATFORM), input);
        Ok(Admission::Taken(platform))
    }
}

impl FormatReader for NpzReader {
    type Work = DocumentWork;
    type Read = ParsedDocument;
    type Group = PendingDocuments;

    const TABLES: &'static [&'static str] = &["records"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn datasets(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn expected_names<'a>(
        &self,
        given: &'a [FormatInput],
    ) -> Option<Vec<(&'static str, &'a str, &'a str)>> {
        let name = |given: &'a FormatInput| match &given.what {
            InputFiles::File(input, _) => {
                Some((NAME, given.platform.as_deref()?, input.name.as_str()))
            }
            _ => None,
        };
        given.iter().map(name).collect()
    }

    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, DocumentWork>,
    ) -> Result<Option<()>> {
        let platform = given.platform.as_deref().unwrap_or(PLATFORM);
        read::Reader::new(platform, ledger, hand).read(&given.what)
    }

    fn parse(work: DocumentWork) -> Result<ParsedDocument, String> {
        let buffered = BufReader::with_capacity(1 << 16, work.opened.reader());
        let document = tpugraphs::read(buffered)?;
        Ok(ParsedDocument { work, document })
    }
}
