//! The hashes of a file's workloads, and nothing else of them.

use std::io::{self, BufRead};

/// More than any line that a reader takes.
const LINE_BYTES: u64 = crate::lines::MAX_LINE_BYTES as u64;

/// The structural hashes of a file by its lines, as far as these begin with one.
pub(in crate::metaschedule) fn hashes(file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
    let mut hashes = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut *file, LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(hashes);
        }
        hashes.push(super::hash_of(&line));
        if line.last() != Some(&b'\n') {
            file.skip_until(b'\n')?;
        }
    }
}
