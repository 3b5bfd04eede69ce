//! Ingest of samples and benchmark logs.

mod duplicate_index;
mod runs;
mod samples;

pub(crate) use runs::LogReader;
pub(crate) use samples::SampleReader;
