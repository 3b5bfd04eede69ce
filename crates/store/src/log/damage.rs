//! Errors of damaged logs: the file, the damage, and a hint.

use super::commit_info::Fault;
use super::proofs::Proof;
use crate::log_files::entries::entry_path;
use tsql_error::Error;

/// Hint for a damaged log.
const WAY_OUT: &str = "hint: `tsql check --repair` restores the recoverable part, and lists the files to ingest again";

/// Returns the error of a damaged log.
pub(super) fn error(table: &str, what: &str) -> Error {
    Error::Log {
        table: table.to_owned(),
        message: format!("{what}\n{WAY_OUT}"),
    }
}

/// Returns the error of a table whose newest version is older than a proven one.
pub(crate) fn stale_error(table: &str, proof: &Proof) -> Error {
    error(table, &describe_missing(table, proof))
}

/// Describes the missing entry of a proven version.
pub(super) fn describe_missing(table: &str, proof: &Proof) -> String {
    let path = format!("{table}/{}", entry_path(proof.version));
    format!("`{path}` is missing: {} was written after it", proof.by)
}

/// Describes a fault of a file.
pub(super) fn describe_fault(path: &str, fault: &Fault) -> String {
    match fault.at {
        Some(at) if at > 0 => format!("`{path}` {} (byte {at})", fault.what),
        _ => format!("`{path}` {}", fault.what),
    }
}

/// Returns the message of a log error without its table and hints.
pub(super) fn plain_message(table: &str, error: &Error) -> String {
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
