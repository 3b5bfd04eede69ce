//! Exit codes and failures of commands.

use tsql_error::Error;

use super::printer::PrintError;

/// Everything was done.
pub(super) const DONE: u8 = 0;
/// Done, but some input was rejected or damage was found.
pub(super) const PARTLY: u8 = 1;
/// A query failed.
pub(super) const QUERY_FAILED: u8 = 1;
/// Not done: wrong usage, or the store or a file could not be read or written.
pub(super) const FAILED: u8 = 2;
/// Done, and the compared side is slower than allowed.
pub(super) const REGRESSED: u8 = 3;
/// Done, and undecided: too few runs, or nothing to compare.
pub(super) const UNDECIDED: u8 = 4;
/// Stopped by Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// Reason for which a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Library(#[from] Error),
    #[error("{0}")]
    Print(#[from] PrintError),
}
