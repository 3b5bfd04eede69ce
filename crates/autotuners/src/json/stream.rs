//! A stream of the elements of a JSON document: one element in memory at a time.

use std::io::{self, Read};
use std::ops::Range;

use super::parse::{Failure, parse_prefix};
use crate::value::Value;

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Maximum size of one element in bytes. An unbalanced brace would otherwise read the rest of the file into memory.
const MAX_ELEMENT_BYTES: usize = 64 << 20;

/// Position of an element: its line from 1 and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) line: u64,
    pub(crate) bytes: Range<u64>,
}

/// Next item of a list or an object.
#[derive(Debug)]
pub(crate) enum Found {
    /// An element; `key` is `None` in a list.
    Element {
        key: Option<String>,
        value: Value,
        span: Span,
    },
    /// The key of the field to enter; [`JsonStream::open`] or [`JsonStream::read_value`] comes next.
    Key(String),
    /// The closing bracket.
    End,
    /// The input ends between elements.
    EndOfInput,
    /// The input ends inside an element that begins on this line.
    Truncated(u64),
    /// An element that begins on this line is no JSON. The stream goes on at the next line that looks like an element.
    Bad(u64, String),
}

/// Key and value of an element, and the position or the number of bytes behind it.
type Parsed = (Option<String>, Value, u64);

/// Reads a JSON document from a reader.
pub(crate) struct JsonStream<R> {
    reader: R,
    buffer: Vec<u8>,
    position: usize,
    base: u64,
    line: u64,
    at_end: bool,
    indent: Option<Vec<u8>>,
    is_flat: bool,
}

impl<R: Read> JsonStream<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            position: 0,
            base: 0,
            line: 1,
            at_end: false,
            indent: None,
            is_flat: false,
        }
    }

    /// Makes objects inside elements invalid. A lost brace would otherwise make the next elements fields of the damaged
    /// one.
    pub(crate) fn with_flat_elements(mut self) -> Self {
        self.is_flat = true;
        self
    }

    /// Line of the next byte, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Reads more bytes behind the buffer. Returns whether there were any.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.position > 0 {
            self.base += self.position as u64;
            self.buffer.drain(..self.position);
            self.position = 0;
        }
        let more = self.buffer.len().max(CHUNK_BYTES) as u64;
        let read = self
            .reader
            .by_ref()
            .take(more)
            .read_to_end(&mut self.buffer)?;
        self.at_end = read == 0;
        Ok(read > 0)
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.position..).unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        let passed = self.rest().iter().take(count);
        self.line += passed.filter(|byte| **byte == b'\n').count() as u64;
        self.position = (self.position + count).min(self.buffer.len());
    }

    /// Passes white space and returns the next byte.
    pub(crate) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let rest = self.rest();
            let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace());
            if let Some(blank) = blank {
                self.advance(blank);
                return Ok(self.rest().first().copied());
            }
            self.advance(rest.len());
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Passes an opening bracket. Returns whether it was there.
    pub(crate) fn open(&mut self, bracket: u8) -> io::Result<bool> {
        let found = self.peek()? == Some(bracket);
        if found {
            self.advance(1);
            self.indent = None;
        }
        Ok(found)
    }

    /// Passes all bytes before the first one of this value.
    pub(crate) fn pass_to(&mut self, byte: u8) -> io::Result<()> {
        while let Some(next) = self.peek()? {
            if next == byte {
                break;
            }
            self.advance(1);
        }
        Ok(())
    }

    /// Passes the rest of a line.
    pub(crate) fn pass_line(&mut self) -> io::Result<()> {
        loop {
            let rest = self.rest();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                self.advance(end + 1);
                return Ok(());
            }
            self.advance(rest.len());
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Parses the next value.
    pub(crate) fn read_value(&mut self) -> io::Result<Result<(Value, Span), Failure>> {
        self.peek()?;
        loop {
            match parse_prefix(self.rest(), self.at_end, false) {
                Ok((value, used)) => {
                    let begin = self.base + self.position as u64;
                    let span = Span {
                        line: self.line,
                        bytes: begin..begin + used as u64,
                    };
                    self.advance(used);
                    return Ok(Ok((value, span)));
                }
                Err(Failure::Incomplete) if self.rest().len() < MAX_ELEMENT_BYTES => {
                    if !self.fill()? && self.at_end {
                        // Once more, because a number may end with the input.
                        match parse_prefix(self.rest(), true, false) {
                            Ok(_) => {}
                            Err(failure) => return Ok(Err(failure)),
                        }
                    }
                }
                Err(failure) => return Ok(Err(failure)),
            }
        }
    }

    /// Passes the separator and returns the key of the next field of an object.
    pub(crate) fn next_key(&mut self) -> io::Result<Found> {
        if self.peek()? == Some(b',') {
            self.advance(1);
        }
        let line = match self.peek()? {
            None => return Ok(Found::EndOfInput),
            Some(b'}') => {
                self.advance(1);
                return Ok(Found::End);
            }
            Some(_) => self.line,
        };
        let key = match self.read_value()? {
            Ok((Value::Text(key), _)) => key,
            Ok(_) => return Ok(Found::Bad(line, "expected a name in quotes".to_owned())),
            Err(Failure::Incomplete) => return Ok(Found::Truncated(line)),
            Err(Failure::Invalid(_, reason)) => return Ok(Found::Bad(line, reason.to_owned())),
        };
        match self.peek()? {
            Some(b':') => self.advance(1),
            None => return Ok(Found::Truncated(line)),
            Some(_) => return Ok(Found::Bad(line, "expected `:`".to_owned())),
        }
        Ok(Found::Key(key))
    }

    /// Returns the next element of a list (`close` is `]`) or the next field of an object (`}`).
    pub(crate) fn next_element(&mut self, close: u8) -> io::Result<Found> {
        if self.peek()? == Some(b',') {
            self.advance(1);
        }
        self.pass_blanks()?;
        let line = match self.peek()? {
            None => return Ok(Found::EndOfInput),
            Some(byte) if byte == close => {
                self.advance(1);
                return Ok(Found::End);
            }
            Some(_) => self.line,
        };
        let start = self.base + self.position as u64;
        let opener = self.rest().first().copied().unwrap_or_default();
        let result = self.element(close)?;
        match result {
            Ok((key, value, end)) => Ok(Found::Element {
                key,
                value,
                span: Span {
                    line,
                    bytes: start..end,
                },
            }),
            Err(Failure::Incomplete) if self.rest().len() < MAX_ELEMENT_BYTES => {
                self.recover(opener, close)?;
                if self.peek()?.is_none() {
                    return Ok(Found::Truncated(line));
                }
                let reason = "an element without its end";
                Ok(Found::Bad(line, reason.to_owned()))
            }
            Err(failure) => {
                let reason = match failure {
                    Failure::Invalid(_, reason) => reason,
                    Failure::Incomplete => "an element of more than 64 MiB",
                };
                self.recover(opener, close)?;
                Ok(Found::Bad(line, reason.to_owned()))
            }
        }
    }

    /// Remembers the white space before the first element: elements of a damaged file are found by it.
    fn pass_blanks(&mut self) -> io::Result<()> {
        if self.indent.is_some() {
            return Ok(());
        }
        let mut seen = Vec::new();
        loop {
            let Some(byte) = self.rest().first().copied() else {
                if self.fill()? {
                    continue;
                }
                break;
            };
            if !byte.is_ascii_whitespace() {
                break;
            }
            if byte == b'\n' {
                seen.clear();
            }
            seen.push(byte);
            self.advance(1);
        }
        if seen.first() == Some(&b'\n') {
            self.indent = Some(seen.split_off(1));
        }
        Ok(())
    }

    /// Parses an element without passing it: on failure the position is its beginning.
    fn element(&mut self, close: u8) -> io::Result<Result<Parsed, Failure>> {
        loop {
            let attempt = parse_element(self.rest(), close, self.at_end, self.is_flat);
            match attempt {
                Ok((key, value, used)) => {
                    self.advance(usize::try_from(used).unwrap_or(usize::MAX));
                    return Ok(Ok((key, value, self.base + self.position as u64)));
                }
                Err(Failure::Incomplete) if self.rest().len() < MAX_ELEMENT_BYTES => {
                    if !self.fill()? {
                        return Ok(Err(Failure::Incomplete));
                    }
                }
                Err(failure) => return Ok(Err(failure)),
            }
        }
    }

    /// Passes lines until one begins as the first element did: same indentation, same first byte. Fields of an object
    /// must open a nested object on that line.
    fn recover(&mut self, opener: u8, close: u8) -> io::Result<()> {
        let indent = self.indent.clone();
        loop {
            let end = self.rest().iter().position(|byte| *byte == b'\n');
            let Some(end) = end else {
                if self.fill()? {
                    continue;
                }
                self.advance(self.rest().len());
                return Ok(());
            };
            self.advance(end + 1);
            while !self.rest().contains(&b'\n') && self.fill()? {}
            let rest = self.rest();
            let length = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len());
            let next = rest.get(..length).unwrap_or_default();
            let Some(indent) = &indent else { continue };
            let Some(content) = next.strip_prefix(indent.as_slice()) else {
                // The closing bracket has less indentation.
                if next.trim_ascii_start().first() == Some(&close) {
                    return Ok(());
                }
                continue;
            };
            let is_object = content.windows(3).any(|window| window == b": {");
            let starts = content.first() == Some(&opener) && (close == b']' || is_object);
            if starts || (content.first() == Some(&close) && indent.is_empty()) {
                return Ok(());
            }
        }
    }
}

fn parse_element(bytes: &[u8], close: u8, is_end: bool, is_flat: bool) -> Result<Parsed, Failure> {
    if close == b']' {
        let (value, used) = parse_prefix(bytes, is_end, is_flat)?;
        return Ok((None, value, used as u64));
    }
    let (key, used) = parse_prefix(bytes, is_end, false)?;
    let Value::Text(key) = key else {
        return Err(Failure::Invalid(0, "expected a name in quotes"));
    };
    let rest = bytes.get(used..).unwrap_or_default();
    let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace());
    let colon = used + blank.ok_or(Failure::Incomplete)?;
    if bytes.get(colon) != Some(&b':') {
        return Err(Failure::Invalid(colon, "expected `:`"));
    }
    let rest = bytes.get(colon + 1..).unwrap_or_default();
    let (value, length) = parse_prefix(rest, is_end, is_flat)?;
    Ok((Some(key), value, (colon + 1 + length) as u64))
}
