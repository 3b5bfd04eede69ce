//! Names of the files of a log, and how new ones are found.

pub(crate) mod entries;
pub(crate) mod log_tail;
