//! The way in of workloads: each file is read as a whole, and each line by itself.

use tsql_formats::computation;
use tsql_formats::metaschedule::workload::{self, NAME};
use tsql_formats::{Documents, Input, Opened};

use super::group::Gathered;
use super::parsed::{Line, Read};
use crate::error::Result;
use crate::formats::document::{self, Document};
use crate::formats::lines::columns::Other;
use crate::formats::taking::{Admission, Admitting, Given, Hand, Taking};
use crate::ledger::Ledger;

/// The room of files of workloads.
#[derive(Clone, Copy)]
pub(in crate::formats) struct Workloads;

impl Admitting for Workloads {
    fn formats(&self) -> &'static [&'static dyn Documents] {
        &[&workload::Workloads]
    }

    fn recalls(&self, input: &Input) -> bool {
        input.was(NAME).is_some()
    }

    fn admit(&self, _: &Input, _: Option<&Opened>, _: Option<&str>) -> Result<Admission> {
        Ok(Admission::Taken(None))
    }
}

impl Taking for Workloads {
    type Work = Document;
    type Read = Read;
    type Group = Gathered;

    const DATASET: &'static str = NAME;
    const TABLES: &'static [&'static str] = &["workloads", "lines"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Document>,
    ) -> Result<Option<()>> {
        document::read(&workload::Workloads, given, ledger, hand)
    }

    fn parse(document: Document) -> Result<Read, String> {
        let text = document.bytes.as_slice();
        let end = memchr::memchr(b'\n', text).and_then(|end| end.checked_sub(1));
        let crlf = end.is_some_and(|before| text.get(before) == Some(&b'\r'));
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        let mut closed = document.closed(NAME);
        for line in workload::lines(text, crlf) {
            closed.line_count += 1;
            let number = line.index + 1;
            match line.workload {
                Ok(workload) => {
                    let verbatim = (!line.is_rebuilt).then(|| line.text.to_vec());
                    closed.verbatim += u64::from(verbatim.is_some());
                    closed.open_line = Some("record");
                    lines.push(Line {
                        number,
                        computation: computation::of_module(&workload.module),
                        workload,
                        verbatim,
                    });
                }
                Err(error) => {
                    let is_blank = line.text.trim_ascii().is_empty();
                    closed.rejects += u64::from(!is_blank);
                    closed.other_count += 1;
                    closed.open_line = Some("other");
                    others.push(Other {
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
        Ok(Read {
            folder: document.input.folder(),
            lines,
            others,
            bytes: text.len() as u64,
            closed,
        })
    }
}
