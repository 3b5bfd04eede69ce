//! A program as a *sketch* (what many programs share) and its *parameters* (what is its own).
//!
//! The transform steps of a program are JSON text in TVM's spelling. The sketch is that text with
//! every integer from 0 on outside of strings replaced by a hole, and the number behind `$` at the end of a
//! pragma's name too:
//!
//! ```text
//! [["SP", 2, 0, 1000, [8, 1, 1], 1], ["FU", 3, [0, 1, 2]], ["PR", 2, 0, "auto_unroll_max_step$64"]]
//! [["SP", ?, ?, ?, [?, ?, ?], ?], ["FU", ?, [?..?]], ["PR", ?, ?, "auto_unroll_max_step$?"]]
//!         2  0  1000 8  1  1  1         3   0  3            2  0                        64
//! ```
//!
//! `[?..?]` is a run of consecutive numbers by its first and its count: how many loops a `FU` step
//! fuses is tuned, and would else make a sketch of its own for each count. [`Common`] then
//! writes the numbers that all programs of a sketch have in common back into it, so that what
//! remains is what was really tuned. Text that holds `?` or `..` itself is its own sketch, without
//! parameters.

mod common;
mod open;
mod seen;

use crate::json::{number_length, string_length};

use crate::number::{integer, write_integer};
use crate::varint;
pub use common::Common;
pub use open::{numbers, open};
pub use seen::Seen;

/// Deepest nesting of lists that a program may have (real ones have three).
const MAX_DEPTH: usize = 16;

/// Longest program: one of a line of 16 MiB, with spaces. Runs of a sketch that somebody else wrote must not ask
/// for memory without end.
const LONGEST: usize = 64 << 20;

/// A scanned program. Reused from line to line.
#[derive(Debug, Default)]
pub struct Scan {
    /// The sketch with all holes open.
    pub sketch: Vec<u8>,
    /// What fills the holes, in order.
    pub numbers: Vec<i64>,
    /// The text is not in TVM's spelling: `json::spaced` first.
    pub respell: bool,
    /// The text holds a hole's sign itself: it must be kept literally.
    pub literal: bool,
    /// Where in the sketch lists begin that would be folded if they were runs.
    lists: Vec<usize>,
}

/// Scans the JSON list at the start of `text` into `scan`; returns its length in bytes.
///
/// # Errors
/// What is wrong with the text, for people.
pub fn scan(text: &[u8], scan: &mut Scan) -> Result<usize, String> {
    let mut scanner = Scanner::new(text, scan, false);
    scanner.list(0)?;
    Ok(scanner.at)
}

/// Scans the JSON list or object that `text` is, which may hold objects too: `{"tile": [8, 4]}`.
///
/// # Errors
/// What is wrong with the text, for people.
pub fn scan_values(text: &[u8], scan: &mut Scan) -> Result<(), String> {
    Scanner::new(text, scan, true).value(0, false)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    scan: &'a mut Scan,
    /// Inside of a `FU` step, where runs are folded.
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
            at: 0,
            scan,
            fuse: false,
            objects,
        }
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn fail<T>(&self, wanted: &str) -> Result<T, String> {
        match self.text.get(self.at) {
            None => Err(format!(
                "the line ends inside of the transform steps, {wanted} expected"
            )),
            Some(byte) => Err(format!(
                "`{}` in the transform steps, {wanted} expected",
                char::from(*byte).escape_default()
            )),
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.scan.respell = true;
            self.at += 1;
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
            if self.run() {
                return Ok(());
            }
            self.scan.lists.push(self.scan.sketch.len());
        }
        self.copy(1);
        self.space();
        if self.peek() == b']' {
            self.copy(1);
            return Ok(());
        }
        let mut first = true;
        loop {
            self.value(depth, first)?;
            first = false;
            self.space();
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
        self.space();
        if self.peek() == b'}' {
            self.copy(1);
            return Ok(());
        }
        loop {
            self.key()?;
            self.value(depth, false)?;
            self.space();
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

    /// A member's name, which is no hole, and the colon behind it.
    fn key(&mut self) -> Result<(), String> {
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        let length = (self.peek() == b'"').then(|| string_length(rest)).flatten();
        let Some(length) = length else {
            return self.fail("a name");
        };
        let name = rest.get(..length).unwrap_or(&[]);
        self.scan.literal |= name.contains(&b'?') || name.windows(2).any(|pair| pair == b"..");
        self.copy(length);
        self.space();
        if self.peek() != b':' {
            return self.fail("`:`");
        }
        self.scan.sketch.extend_from_slice(b": ");
        self.at += 1;
        if self.peek() == b' ' {
            self.at += 1;
        } else {
            self.scan.respell = true;
        }
        self.space();
        Ok(())
    }

    fn comma(&mut self) {
        self.scan.sketch.extend_from_slice(b", ");
        self.at += 1;
        if self.peek() == b' ' {
            self.at += 1;
        } else {
            self.scan.respell = true;
        }
        self.space();
    }

    fn copy(&mut self, count: usize) {
        let end = self.at + count;
        self.scan
            .sketch
            .extend_from_slice(self.text.get(self.at..end).unwrap_or(&[]));
        self.at = end;
    }

    fn value(&mut self, depth: usize, first: bool) -> Result<(), String> {
        match self.peek() {
            b'[' => self.list(depth + 1),
            b'{' if self.objects => self.object(depth + 1),
            b'"' => {
                let start = self.at;
                self.string()?;
                if first && depth == 1 {
                    self.fuse = self.text.get(start..self.at) == Some(b"\"FU\"");
                }
                Ok(())
            }
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.fail("a value"),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), String> {
        if !self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            return self.fail("a value");
        }
        self.copy(word.len());
        Ok(())
    }

    /// A JSON string; `$` and digits at its end become a hole.
    fn string(&mut self) -> Result<(), String> {
        let start = self.at;
        let length = string_length(self.text.get(start..).unwrap_or(&[]))
            .ok_or_else(|| "a string in the transform steps does not end".to_owned())?;
        let body = self.text.get(start..start + length - 1).unwrap_or(&[]);
        self.scan.literal |= body.contains(&b'?') || body.windows(2).any(|pair| pair == b"..");
        let digits = body
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let split = body.len() - digits;
        let number = body.get(split..).and_then(integer);
        match number {
            Some(number) if split > 0 && body.get(split - 1) == Some(&b'$') => {
                self.copy(split);
                self.scan.sketch.extend_from_slice(b"?\"");
                self.scan.numbers.push(number);
                self.at = start + length;
            }
            _ => self.copy(length),
        }
        Ok(())
    }

    /// A JSON number: an integer from 0 on becomes a hole, any other is copied.
    fn number(&mut self) -> Result<(), String> {
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = !matches!(rest.get(digits), Some(b'.' | b'e' | b'E'));
        if let Some(value) = rest.get(..digits).filter(|_| ends).and_then(integer) {
            self.scan.sketch.push(b'?');
            self.scan.numbers.push(value);
            self.at += digits;
            return Ok(());
        }
        let broken = || "a broken number in the transform steps".to_owned();
        self.copy(number_length(rest).ok_or_else(broken)?);
        Ok(())
    }

    /// A list of consecutive numbers as its first and its count.
    fn run(&mut self) -> bool {
        let Some((first, count, length)) = run(self.text.get(self.at..).unwrap_or(&[])) else {
            return false;
        };
        self.scan.sketch.extend_from_slice(b"[?..?]");
        self.scan.numbers.extend([first, count]);
        self.at += length;
        true
    }
}

/// The list of consecutive numbers, `[3, 4, 5]`, at the start of `text`: its first, its count, and its length in bytes.
fn run(text: &[u8]) -> Option<(i64, i64, usize)> {
    if text.first() != Some(&b'[') {
        return None;
    }
    let mut at = 1;
    let (mut first, mut count) = (0, 0_i64);
    loop {
        let rest = text.get(at..).unwrap_or(&[]);
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = rest.get(..length).and_then(integer)?;
        if count == 0 {
            first = value;
        } else if Some(value) != count.checked_add(first) {
            return None;
        }
        count += 1;
        at += length;
        match (rest.get(length), rest.get(length + 1)) {
            (Some(b','), Some(b' ')) => at += 2,
            (Some(b']'), _) => return Some((first, count, at + 1)),
            _ => return None,
        }
    }
}

/// Appends the program's text to `out`: `sketch` with its holes filled. `params` is `None` for a
/// sketch that is the text itself. False where they do not fit together.
pub fn fill(sketch: &[u8], params: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
    let Some(mut params) = params else {
        out.extend_from_slice(sketch);
        return true;
    };
    let mut rest = sketch;
    let longest = out.len().saturating_add(LONGEST);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'?' => match varint::read_unsigned(&mut params) {
                Some(value) => write_integer(value, out),
                None => return false,
            },
            b'.' if after.first() == Some(&b'.') && !in_number(after) => {
                let count = after.get(1..).unwrap_or(&[]);
                match fill_run(count, &mut params, out) {
                    Some(after) if out.len() <= longest => rest = after,
                    _ => return false,
                }
            }
            _ => out.push(byte),
        }
    }
    params.is_empty()
}

/// Is what follows the first of two points no count?
fn in_number(after: &[u8]) -> bool {
    !matches!(after.get(1), Some(b'?' | b'0'..=b'9'))
}

/// Replaces the first number of a run, which stands at the end of `out`, by the whole run.
fn fill_run<'a>(rest: &'a [u8], params: &mut &[u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (count, rest) = if let Some(after) = rest.strip_prefix(b"?") {
        (varint::read_unsigned(params)?, after)
    } else {
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, after) = rest.split_at(length);
        (integer(digits)?, after)
    };
    let digits = out
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let first = integer(out.get(out.len() - digits..)?)?;
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
