//! The reader of a file: a stream of events beside a document.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};

use crate::document::{Document, Event};
use crate::error::Error;
use crate::format::Format;
use crate::formats;
use crate::output::{FormatReader, Output, ReadOptions};

/// Reads a file as a stream of events.
pub struct Reader<'a> {
    format: Box<dyn FormatReader + 'a>,
    output: Output,
    more: bool,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reader")
            .field("document", &self.output.document)
            .finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Opens a decompressed file of a detected format.
    #[must_use]
    pub fn new(format: Format, input: impl BufRead + 'a, options: ReadOptions) -> Self {
        let (reader, document) = formats::open(format, Box::new(input), &options);
        Self {
            format: reader,
            output: Output {
                document,
                options,
                events: VecDeque::new(),
            },
            more: true,
        }
    }

    /// Facts of the file; complete after the last event.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.output.document
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.output.events.pop_front() {
                return Some(Ok(event));
            }
            if !self.more {
                return None;
            }
            match self.format.step(&mut self.output) {
                Ok(more) => self.more = more,
                Err(error) => {
                    self.more = false;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Decompresses gzip and bzip2 by their first bytes; other input passes unchanged.
///
/// # Errors
/// The first bytes cannot be read.
pub fn decompress<'a>(input: impl Read + 'a) -> std::io::Result<Box<dyn BufRead + 'a>> {
    let mut input = BufReader::new(input);
    let magic = input.fill_buf()?;
    Ok(if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(input)))
    } else if magic.starts_with(b"BZh") {
        Box::new(BufReader::new(bzip2::bufread::MultiBzDecoder::new(input)))
    } else {
        Box::new(input)
    })
}
