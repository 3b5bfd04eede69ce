//! The lines of a chunk, one by one.

use crate::lines::is_comment;

/// Its lines without their line feeds, the last of which may lack it.
pub(crate) fn lines(chunk: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = chunk;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest);
        let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after.get(1..).unwrap_or(&[]);
        Some(line)
    })
}

/// Reads a line that may be a comment. Where it is no record, why it is refused, if it is.
pub(crate) fn record<'a>(
    line: &'a [u8],
    read: impl FnOnce(&'a [u8]) -> Result<(), String>,
) -> Result<(), Option<String>> {
    if is_comment(line) {
        return Err(None);
    }
    read(line).map_err(Some)
}
