//! Errors of damaged logs: the file, what is wrong with it, and the way out.

use super::commit_info::Fault;
use super::proofs::Proof;
use crate::log_files::entries::entry_path;
use tsql_error::Error;

/// The way out of damage of a log.
const WAY_OUT: &str =
    "hint: `tsql check --repair` restores what is left, and names the files to ingest again";

/// The error of a damaged log of a table.
pub(super) fn error(table: &str, what: &str) -> Error {
    Error::Log {
        table: table.to_owned(),
        message: format!("{what}\n{WAY_OUT}"),
    }
}

/// The error of a table whose newest version is older than a proven one.
pub(crate) fn older(table: &str, proof: &Proof) -> Error {
    error(table, &missing(table, proof))
}

/// That the entry of a proven version is missing, in words.
pub(super) fn missing(table: &str, proof: &Proof) -> String {
    let path = format!("{table}/{}", entry_path(proof.version));
    format!("`{path}` is missing: {} was written after it", proof.by)
}

/// A fault of a file, in words.
pub(super) fn described(path: &str, fault: &Fault) -> String {
    match fault.at {
        Some(at) if at > 0 => format!("`{path}` {} (byte {at})", fault.what),
        _ => format!("`{path}` {}", fault.what),
    }
}

/// An error of a log as part of a sentence: without its table and its hints.
pub(super) fn plain(table: &str, error: &Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let of_table = [format!("table {table}: "), format!("{table}: ")];
    let rest = of_table
        .iter()
        .find_map(|begin| first.strip_prefix(begin.as_str()));
    let rest = rest.unwrap_or(first);
    rest.trim_end_matches(": a file of its log is damaged")
        .to_owned()
}
