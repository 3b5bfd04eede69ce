//! Names of log files, and detection of new ones.

pub(crate) mod entries;
pub(crate) mod log_tail;
