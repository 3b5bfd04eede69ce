//! Converts rows of logs to columns, for all dialects.

mod details;
mod environments;
mod others;
mod records;

pub(crate) use environments::EnvironmentRows;
pub(crate) use others::{NonRecordLine, non_record_columns};
pub(crate) use records::RecordRows;
