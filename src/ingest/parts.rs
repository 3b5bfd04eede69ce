//! The part of the files that one of several processes takes.

use crate::part::Part;

/// Keeps the files of a part, by their paths; all where there is none.
pub(super) fn keep<T>(part: Option<Part>, files: &mut Vec<T>, path: impl Fn(&T) -> &str) {
    let Some(part) = part else { return };
    let paths: Vec<&str> = files.iter().map(&path).collect();
    let units = tsql_formats::units(&paths).into_iter();
    let own: Vec<bool> = units.map(|unit| part.has(unit)).collect();
    let mut own = own.into_iter();
    files.retain(|_| own.next().unwrap_or(false));
}
