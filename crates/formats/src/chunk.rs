//! Splits a chunk into lines.

use crate::lines::is_comment;

/// Returns the lines without their line feeds. The last line may lack its line feed.
pub(crate) fn split_lines(chunk: &[u8]) -> impl Iterator<Item = &[u8]> {
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

/// Parses a line with `parse` unless it is a comment. The error is the reason for the rejection, or `None` for a
/// comment.
pub(crate) fn read_record<'a>(
    line: &'a [u8],
    parse: impl FnOnce(&'a [u8]) -> Result<(), String>,
) -> Result<(), Option<String>> {
    if is_comment(line) {
        return Err(None);
    }
    parse(line).map_err(Some)
}
