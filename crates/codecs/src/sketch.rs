//! Splits a program into a *sketch* (common to many programs) and *parameters* (of one program).
//!
//! The transform steps of a program are JSON text in TVM's spelling. In the sketch, a hole replaces every
//! non-negative integer outside of strings, and the number after `$` at the end of a pragma name:
//!
//! ```text
//! [["SP", 2, 0, 1000, [8, 1, 1], 1], ["FU", 3, [0, 1, 2]], ["PR", 2, 0, "auto_unroll_max_step$64"]]
//! [["SP", ?, ?, ?, [?, ?, ?], ?], ["FU", ?, [?..?]], ["PR", ?, ?, "auto_unroll_max_step$?"]]
//!         2  0  1000 8  1  1  1         3   0  3            2  0                        64
//! ```
//!
//! `[?..?]` is a run of consecutive numbers: its first number and its count. The number of loops that a `FU` step fuses
//! is tuned, and would otherwise yield a separate sketch for each count. [`CommonNumbers`] then writes the numbers that
//! all programs of a sketch have in common back into it, so that only tuned numbers remain as parameters. Text that
//! contains `?` or `..` itself is its own sketch, without parameters.

mod common;
mod open;
mod trie;

use crate::json::{number_length, string_length};

use crate::number::{parse_integer, write_integer};
use crate::varint;
pub use common::CommonNumbers;
pub use open::{hole_numbers, open_holes};
pub use trie::SketchTrie;

/// Maximum nesting depth of lists in a program. Real programs have three levels.
const MAX_DEPTH: usize = 16;

/// Maximum program length: a line of 16 MiB plus spaces.
///
/// Runs in a foreign sketch must not request unbounded memory.
const MAX_PROGRAM_BYTES: usize = 64 << 20;

/// A scanned program. Reused between lines.
#[derive(Debug, Default)]
pub struct Scan {
    /// The sketch with all holes open.
    pub sketch: Vec<u8>,
    /// Values of the holes, in order.
    pub numbers: Vec<i64>,
    /// The text is not in TVM's spelling: apply `json::normalize_spacing` first.
    pub respell: bool,
    /// The text contains a hole marker itself and must be stored literally.
    pub literal: bool,
    /// Offsets in the sketch of lists that would be folded if they were runs.
    lists: Vec<usize>,
}

/// Scans the JSON list at the start of `text` into `scan`. Returns its length in bytes.
///
/// # Errors
///
/// A user-readable description of the syntax error.
pub fn scan(text: &[u8], scan: &mut Scan) -> Result<usize, String> {
    let mut scanner = Scanner::new(text, scan, false);
    scanner.list(0)?;
    Ok(scanner.position)
}

/// Scans a JSON list or object, which may contain objects: `{"tile": [8, 4]}`.
///
/// # Errors
///
/// A user-readable description of the syntax error.
pub fn scan_values(text: &[u8], scan: &mut Scan) -> Result<(), String> {
    Scanner::new(text, scan, true).value(0, false)
}

struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
    scan: &'a mut Scan,
    /// Inside a `FU` step, where runs are folded.
    fuse: bool,
    /// The text may hold objects.
    objects: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8], scan: &'a mut Scan, objects: bool) -> Self {
        scan.sketch.clear();
        scan.numbers.clear();
        scan.lists.clear();
        scan.respell = false;
        scan.literal = false;
        Self {
            text,
            position: 0,
            scan,
            fuse: false,
            objects,
        }
    }

    fn peek(&self) -> u8 {
        self.text.get(self.position).copied().unwrap_or(0)
    }

    fn fail<T>(&self, expected: &str) -> Result<T, String> {
        match self.text.get(self.position) {
            None => Err(format!(
                "the line ends inside of the transform steps, {expected} expected"
            )),
            Some(byte) => Err(format!(
                "`{}` in the transform steps, {expected} expected",
                char::from(*byte).escape_default()
            )),
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.scan.respell = true;
            self.position += 1;
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "lists nested deeper than {MAX_DEPTH} in the transform steps"
            ));
        }
        if self.peek() != b'[' {
            return self.fail("`[`");
        }
        if self.fuse {
            if self.fold_run() {
                return Ok(());
            }
            self.scan.lists.push(self.scan.sketch.len());
        }
        self.copy(1);
        self.skip_space();
        if self.peek() == b']' {
            self.copy(1);
            return Ok(());
        }
        let mut first = true;
        loop {
            self.value(depth, first)?;
            first = false;
            self.skip_space();
            match self.peek() {
                b',' => self.comma(),
                b']' => {
                    self.copy(1);
                    break;
                }
                _ => return self.fail("`,` or `]`"),
            }
        }
        self.fuse = self.fuse && depth != 1;
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("objects nested deeper than {MAX_DEPTH}"));
        }
        self.copy(1);
        self.skip_space();
        if self.peek() == b'}' {
            self.copy(1);
            return Ok(());
        }
        loop {
            self.key()?;
            self.value(depth, false)?;
            self.skip_space();
            match self.peek() {
                b',' => self.comma(),
                b'}' => {
                    self.copy(1);
                    return Ok(());
                }
                _ => return self.fail("`,` or `}`"),
            }
        }
    }

    /// Parses a member name, which is never a hole, and the colon.
    fn key(&mut self) -> Result<(), String> {
        let rest = self.text.get(self.position..).unwrap_or(&[]);
        let length = (self.peek() == b'"').then(|| string_length(rest)).flatten();
        let Some(length) = length else {
            return self.fail("a name");
        };
        let name = rest.get(..length).unwrap_or(&[]);
        self.scan.literal |= name.contains(&b'?') || name.windows(2).any(|pair| pair == b"..");
        self.copy(length);
        self.skip_space();
        if self.peek() != b':' {
            return self.fail("`:`");
        }
        self.scan.sketch.extend_from_slice(b": ");
        self.position += 1;
        if self.peek() == b' ' {
            self.position += 1;
        } else {
            self.scan.respell = true;
        }
        self.skip_space();
        Ok(())
    }

    fn comma(&mut self) {
        self.scan.sketch.extend_from_slice(b", ");
        self.position += 1;
        if self.peek() == b' ' {
            self.position += 1;
        } else {
            self.scan.respell = true;
        }
        self.skip_space();
    }

    fn copy(&mut self, count: usize) {
        let end = self.position + count;
        self.scan
            .sketch
            .extend_from_slice(self.text.get(self.position..end).unwrap_or(&[]));
        self.position = end;
    }

    fn value(&mut self, depth: usize, first: bool) -> Result<(), String> {
        match self.peek() {
            b'[' => self.list(depth + 1),
            b'{' if self.objects => self.object(depth + 1),
            b'"' => {
                let start = self.position;
                self.string()?;
                if first && depth == 1 {
                    self.fuse = self.text.get(start..self.position) == Some(b"\"FU\"");
                }
                Ok(())
            }
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => self.fail("a value"),
        }
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), String> {
        if !self
            .text
            .get(self.position..)
            .is_some_and(|rest| rest.starts_with(literal))
        {
            return self.fail("a value");
        }
        self.copy(literal.len());
        Ok(())
    }

    /// Parses a JSON string. Digits after `$` at its end become a hole.
    fn string(&mut self) -> Result<(), String> {
        let start = self.position;
        let length = string_length(self.text.get(start..).unwrap_or(&[]))
            .ok_or_else(|| "an unterminated string in the transform steps".to_owned())?;
        let body = self.text.get(start..start + length - 1).unwrap_or(&[]);
        self.scan.literal |= body.contains(&b'?') || body.windows(2).any(|pair| pair == b"..");
        let digits = body
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let split = body.len() - digits;
        let number = body.get(split..).and_then(parse_integer);
        match number {
            Some(number) if split > 0 && body.get(split - 1) == Some(&b'$') => {
                self.copy(split);
                self.scan.sketch.extend_from_slice(b"?\"");
                self.scan.numbers.push(number);
                self.position = start + length;
            }
            _ => self.copy(length),
        }
        Ok(())
    }

    /// Parses a JSON number. A non-negative integer becomes a hole, any other number is copied.
    fn number(&mut self) -> Result<(), String> {
        let rest = self.text.get(self.position..).unwrap_or(&[]);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_integer = !matches!(rest.get(digits), Some(b'.' | b'e' | b'E'));
        if let Some(value) = rest
            .get(..digits)
            .filter(|_| is_integer)
            .and_then(parse_integer)
        {
            self.scan.sketch.push(b'?');
            self.scan.numbers.push(value);
            self.position += digits;
            return Ok(());
        }
        let invalid = || "an invalid number in the transform steps".to_owned();
        self.copy(number_length(rest).ok_or_else(invalid)?);
        Ok(())
    }

    /// Folds a list of consecutive numbers into its first number and its count.
    fn fold_run(&mut self) -> bool {
        let Some((first, count, length)) = parse_run(self.text.get(self.position..).unwrap_or(&[]))
        else {
            return false;
        };
        self.scan.sketch.extend_from_slice(b"[?..?]");
        self.scan.numbers.extend([first, count]);
        self.position += length;
        true
    }
}

/// Parses a list of consecutive numbers, `[3, 4, 5]`. Returns its first number, its count, and its length
/// in bytes.
fn parse_run(text: &[u8]) -> Option<(i64, i64, usize)> {
    if text.first() != Some(&b'[') {
        return None;
    }
    let mut position = 1;
    let (mut first, mut count) = (0, 0_i64);
    loop {
        let rest = text.get(position..).unwrap_or(&[]);
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = rest.get(..length).and_then(parse_integer)?;
        if count == 0 {
            first = value;
        } else if Some(value) != count.checked_add(first) {
            return None;
        }
        count += 1;
        position += length;
        match (rest.get(length), rest.get(length + 1)) {
            (Some(b','), Some(b' ')) => position += 2,
            (Some(b']'), _) => return Some((first, count, position + 1)),
            _ => return None,
        }
    }
}

/// Appends the program text: `sketch` with its holes filled. `params` is `None` for a literal sketch.
/// Returns false if they do not fit together.
pub fn fill(sketch: &[u8], params: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
    let Some(mut params) = params else {
        out.extend_from_slice(sketch);
        return true;
    };
    let mut rest = sketch;
    let max_length = out.len().saturating_add(MAX_PROGRAM_BYTES);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'?' => match varint::read_unsigned(&mut params) {
                Some(value) => write_integer(value, out),
                None => return false,
            },
            b'.' if after.first() == Some(&b'.') && !is_decimal_point(after) => {
                let count = after.get(1..).unwrap_or(&[]);
                match fill_run(count, &mut params, out) {
                    Some(after) if out.len() <= max_length => rest = after,
                    _ => return false,
                }
            }
            _ => out.push(byte),
        }
    }
    params.is_empty()
}

/// Returns whether a point is part of a number: no count of a run follows.
fn is_decimal_point(after: &[u8]) -> bool {
    !matches!(after.get(1), Some(b'?' | b'0'..=b'9'))
}

/// Expands the first number of a run, which is at the end of `out`, to the whole run.
fn fill_run<'a>(rest: &'a [u8], params: &mut &[u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (count, rest) = if let Some(after) = rest.strip_prefix(b"?") {
        (varint::read_unsigned(params)?, after)
    } else {
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, after) = rest.split_at(length);
        (parse_integer(digits)?, after)
    };
    let digits = out
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let first = parse_integer(out.get(out.len() - digits..)?)?;
    if !(1..=i64::from(u16::MAX)).contains(&count) {
        return None;
    }
    for step in 1..count {
        out.extend_from_slice(b", ");
        write_integer(first.checked_add(step)?, out);
    }
    Some(rest)
}

#[cfg(test)]
mod tests;
