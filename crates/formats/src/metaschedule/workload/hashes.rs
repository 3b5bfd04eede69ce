//! Reads only the hashes of the workloads of a file.

use std::io::{self, BufRead};

use crate::tvm_json;

/// Limit of lines, more than any database has.
const MAX_LINES: usize = 1 << 20;

/// Limit of the line length, which no reader exceeds.
const LINE_BYTES: u64 = crate::lines::MAX_LINE_BYTES as u64;

/// Returns the structural hashes of a file by line; `None` for lines that do not start with one.
///
/// # Errors
/// Returns an error if reading fails, or if there are more lines than any file has, which a small compressed file may
/// expand to.
pub(in crate::metaschedule) fn read_hashes(
    file: &mut dyn BufRead,
) -> io::Result<Vec<Option<String>>> {
    let mut hashes = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = io::Read::take(&mut *file, LINE_BYTES).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(hashes);
        }
        if hashes.len() == MAX_LINES {
            let reason = format!("more than {MAX_LINES} workloads");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        hashes.push(parse_hash(&line));
        if line.last() != Some(&b'\n') {
            file.skip_until(b'\n')?;
        }
    }
}

/// Whether a line starts like a workload: a hash, the length of a graph and the first byte of the graph.
pub fn begins_workload(line: &[u8]) -> bool {
    let encoded = split_line(line).and_then(|(_, encoded)| encoded.get(..HEAD_CHARS));
    encoded.is_some_and(tvm_json::begins_encoded)
}

/// Returns the structural hash at the start of a line.
fn parse_hash(line: &[u8]) -> Option<String> {
    let (digits, _) = split_line(line)?;
    let hash: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(hash.to_string())
}

/// Base64 characters that encode the length of a graph and its first byte.
const HEAD_CHARS: usize = 12;

/// Returns the digits of the hash of a line, and the rest from the start of the module.
fn split_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"[")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at_checked(digits)?;
    let rest = rest.strip_prefix(b"\"")?.trim_ascii_start();
    let rest = rest.strip_prefix(b",")?.trim_ascii_start();
    Some((digits, rest.strip_prefix(b"\"")?))
}
