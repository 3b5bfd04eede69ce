//! What lines begin with: the hashes of a file's workloads, and nothing else of them.

use std::io::{self, BufRead};

use crate::tvm_json;

/// More than any database has.
const MOST_LINES: usize = 1 << 20;

/// More than any line that a reader takes.
const LINE_BYTES: u64 = crate::lines::MAX_LINE_BYTES as u64;

/// The structural hashes of a file by its lines, as far as these begin with one.
///
/// # Errors
/// What fails to be read, and more lines than any file has, which a few packed bytes may become.
pub(in crate::metaschedule) fn hashes(file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
    let mut hashes = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut *file, LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(hashes);
        }
        if hashes.len() == MOST_LINES {
            let reason = format!("more than {MOST_LINES} workloads");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        hashes.push(hash_of(&line));
        if line.last() != Some(&b'\n') {
            file.skip_until(b'\n')?;
        }
    }
}

/// Does a line begin like one of the file: with a hash, and the length of a graph whose first byte follows?
pub fn begins(line: &[u8]) -> bool {
    let encoded = split(line).and_then(|(_, encoded)| encoded.get(..BEGINNING));
    encoded.is_some_and(tvm_json::begins)
}

/// The structural hash that a line begins with.
fn hash_of(line: &[u8]) -> Option<String> {
    let (digits, _) = split(line)?;
    let hash: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(hash.to_string())
}

/// Characters of base64 that say the length of a graph and its first byte.
const BEGINNING: usize = 12;

/// The digits of a line's hash, and what begins its module.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"[")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at_checked(digits)?;
    let rest = rest.strip_prefix(b"\"")?.trim_ascii_start();
    let rest = rest.strip_prefix(b",")?.trim_ascii_start();
    Some((digits, rest.strip_prefix(b"\"")?))
}
