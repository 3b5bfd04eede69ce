//! Numbers and lists as Python's `json.dumps` writes them.

use tsql_codecs::number::{Decimal, Spelling, write_integer};

/// Appends a number, whole ones without a point.
pub(crate) fn write_number(number: Decimal, out: &mut Vec<u8>) -> Option<()> {
    match number.digits_at(0) {
        Some(whole) => write_integer(whole, out),
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
