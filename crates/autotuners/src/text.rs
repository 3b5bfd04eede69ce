//! Streams of lines and of CSV records with their positions.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Maximum size of a line in bytes; the rest of a longer line is passed.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum number of lines of a CSV record. A stray quote would otherwise read the rest of the file as one cell.
const MAX_RECORD_LINES: usize = 1000;

/// A line without its terminator.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) bytes: Range<u64>,
    pub(crate) content: Vec<u8>,
    /// Whether the line was cut at the maximum size.
    pub(crate) is_cut: bool,
}

impl Line {
    /// Text of the line, or the reason why there is none.
    pub(crate) fn text(&self) -> Result<&str, String> {
        if self.is_cut {
            return Err("a line of more than 64 MiB".to_owned());
        }
        std::str::from_utf8(&self.content).map_err(|_| "invalid UTF-8".to_owned())
    }
}

/// Reads lines.
pub(crate) struct LineStream<R> {
    reader: R,
    offset: u64,
    number: u64,
    pushed_back: VecDeque<Line>,
}

impl<R: BufRead> LineStream<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            offset: 0,
            number: 0,
            pushed_back: VecDeque::new(),
        }
    }

    /// Returns the next line.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        if let Some(line) = self.pushed_back.pop_front() {
            return Ok(Some(line));
        }
        let mut content = Vec::new();
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES);
        let read = limited.read_until(b'\n', &mut content)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let begin = self.offset;
        self.offset += read as u64;
        let mut is_cut = false;
        if content.last() == Some(&b'\n') {
            content.pop();
            if content.last() == Some(&b'\r') {
                content.pop();
            }
        } else if read as u64 == MAX_LINE_BYTES {
            is_cut = self.pass_line()?;
        }
        Ok(Some(Line {
            number: self.number,
            bytes: begin..begin + read as u64,
            content,
            is_cut,
        }))
    }

    /// Returns lines to the front of the stream.
    pub(crate) fn push_back(&mut self, lines: impl DoubleEndedIterator<Item = Line>) {
        for line in lines.rev() {
            self.pushed_back.push_front(line);
        }
    }

    /// Passes the rest of a line. Returns whether there was any.
    fn pass_line(&mut self) -> io::Result<bool> {
        let mut any = false;
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(available.len(), |end| end + 1);
            self.reader.consume(count);
            self.offset += count as u64;
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// A CSV record.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) bytes: Range<u64>,
    /// Cells, or the reason why there are none.
    pub(crate) cells: Result<Vec<String>, String>,
}

/// Reads CSV records: quotes as Python and RFC 4180 write them, LF or CRLF. Blank lines are passed.
pub(crate) struct TableStream<R> {
    lines: LineStream<R>,
}

impl<R: BufRead> TableStream<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            lines: LineStream::new(reader),
        }
    }

    /// Returns the next line as it is; for lines before the header.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        self.lines.next_line()
    }

    /// Returns a line to the front of the table.
    pub(crate) fn push_back(&mut self, line: Line) {
        self.lines.push_back(std::iter::once(line));
    }

    /// Returns the next record.
    pub(crate) fn next_row(&mut self) -> io::Result<Option<Row>> {
        let first = loop {
            match self.lines.next_line()? {
                None => return Ok(None),
                Some(line) if line.content.trim_ascii().is_empty() => {}
                Some(line) => break line,
            }
        };
        let quotes = |line: &Line| line.content.iter().filter(|byte| **byte == b'"').count();
        let mut is_open = quotes(&first) % 2 == 1;
        let mut more = Vec::new();
        while is_open && more.len() < MAX_RECORD_LINES {
            let Some(line) = self.lines.next_line()? else {
                break;
            };
            is_open ^= quotes(&line) % 2 == 1;
            more.push(line);
        }
        let mut row = Row {
            line: first.number,
            bytes: first.bytes.clone(),
            cells: Err("a quote without its end".to_owned()),
        };
        if is_open {
            self.lines.push_back(more.into_iter());
            return Ok(Some(row));
        }
        if let Some(line) = std::iter::once(&first)
            .chain(&more)
            .find(|line| line.is_cut)
        {
            row.cells = line.text().map(|_| Vec::new());
            return Ok(Some(row));
        }
        let mut content = first.content;
        for line in more {
            content.push(b'\n');
            content.extend_from_slice(&line.content);
            row.bytes.end = line.bytes.end;
        }
        row.cells = split_cells(&content);
        Ok(Some(row))
    }
}

/// Splits one CSV record into cells.
pub(crate) fn split_cells(content: &[u8]) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(content.len().max(1))
        .from_reader(content);
    let mut record = csv::StringRecord::new();
    match reader.read_record(&mut record) {
        Ok(true) => Ok(record.iter().map(str::to_owned).collect()),
        Ok(false) => Err("a line without cells".to_owned()),
        Err(_) => Err("invalid UTF-8".to_owned()),
    }
}
