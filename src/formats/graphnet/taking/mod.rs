//! The way in: samples, and benchmark logs.

mod levels;
mod runs;
mod samples;
mod texts;

pub(crate) use runs::Logs;
pub(crate) use samples::Samples;

/// Platform of files that have no records.
pub(crate) const NO_PLATFORM: &str = "none";
