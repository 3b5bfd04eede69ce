//! The way in: samples, and benchmark logs.

mod levels;
mod runs;
mod samples;

pub(crate) use runs::Logs;
pub(crate) use samples::Samples;
