//! Ingest of workloads. A file is read as a whole, then parsed line by line.

use tsql_error::Result;
use tsql_formats::computation;
use tsql_formats::metaschedule::workload::{self, NAME};
use tsql_formats::{DocumentFormat, Input};

use super::group::PendingWorkloads;
use super::parsed::{Line, ParsedFile};
use crate::formats::document;
use crate::formats::document::Document;
use crate::formats::format_reader::{
    Admission, AdmissionRequest, FormatDetector, FormatInput, FormatReader, Sink,
};
use crate::formats::lines::columns::NonRecordLine;
use crate::ingest_log::IngestLog;

/// Reader of workload files.
#[derive(Clone, Copy)]
pub(in crate::formats) struct WorkloadReader;

impl FormatDetector for WorkloadReader {
    fn formats(&self) -> &'static [&'static dyn DocumentFormat] {
        &[&workload::Workloads]
    }

    fn owns_exported(&self, input: &Input) -> bool {
        input.exported_as(NAME).is_some()
    }

    fn admit(&self, _: &AdmissionRequest<'_>) -> Result<Admission> {
        Ok(Admission::Taken(None))
    }
}

impl FormatReader for WorkloadReader {
    type Work = Document;
    type Read = ParsedFile;
    type Group = PendingWorkloads;

    const TABLES: &'static [&'static str] = &["workloads", "lines"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn datasets(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, Document>,
    ) -> Result<Option<()>> {
        document::read(&workload::Workloads, given, ledger, hand)
    }

    fn parse(document: Document) -> Result<ParsedFile, String> {
        let text = document.bytes.as_slice();
        let end = memchr::memchr(b'\n', text).and_then(|end| end.checked_sub(1));
        let crlf = end.is_some_and(|before| text.get(before) == Some(&b'\r'));
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        let mut closed = document.to_segment(NAME);
        for line in workload::read_lines(text, crlf) {
            closed.line_count += 1;
            let number = line.index + 1;
            match line.workload {
                Ok(workload) => {
                    let verbatim = (!line.is_rebuilt).then(|| line.text.to_vec());
                    closed.verbatim += u64::from(verbatim.is_some());
                    closed.open_line = Some("record");
                    lines.push(Line {
                        number,
                        computation: computation::computation_of_module(&workload.module),
                        workload,
                        verbatim,
                    });
                }
                Err(error) => {
                    let is_blank = line.text.trim_ascii().is_empty();
                    closed.rejects += u64::from(!is_blank);
                    closed.other_count += 1;
                    closed.open_line = Some("other");
                    others.push(NonRecordLine {
                        segment: 0,
                        line: number,
                        part: 0,
                        reason: (!is_blank).then(|| error.in_line()),
                        text: line.text.to_vec(),
                    });
                }
            }
        }
        closed.crlf = Some(crlf);
        if text.last().is_none_or(|&byte| byte == b'\n') {
            closed.open_line = None;
        }
        Ok(ParsedFile {
            folder: document.input.folder(),
            lines,
            others,
            bytes: text.len() as u64,
            closed,
        })
    }
}
