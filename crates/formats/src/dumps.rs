//! Writes lines, numbers and lists as Python's `json.dumps` does.

use tsql_codecs::json;
use tsql_codecs::number::{Decimal, Spelling, write_integer};

use crate::rows::JsonWriter;

/// Appends a line that `write` writes with the default spacing of `json.dumps`. The spaces are removed if the writer is
/// compact. Returns false if the line cannot be written; `out` then ends in an incomplete line.
pub(crate) fn write_line(
    writer: JsonWriter,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Option<()>,
) -> bool {
    if !writer.is_compact() {
        return write(out).is_some();
    }
    let mut line = Vec::new();
    let result = write(&mut line);
    json::write_compact(&line, out);
    result.is_some()
}

/// Appends a number; integers without a decimal point.
pub(crate) fn write_number(number: Decimal, out: &mut Vec<u8>) -> Option<()> {
    match number.digits_at(0) {
        Some(integer) => write_integer(integer, out),
        None => number.write(Spelling::Shortest, out).then_some(())?,
    }
    Some(())
}

/// Appends a list.
pub(crate) fn write_list<T>(
    items: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
    write: impl Fn(T, &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write(item, out)?;
    }
    out.push(b']');
    Some(())
}
