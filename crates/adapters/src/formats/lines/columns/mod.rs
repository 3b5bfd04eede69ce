//! Converts rows of logs to columns, for all dialects.

mod details;
mod environments;
mod others;
mod records;

pub use environments::EnvironmentRows;
pub use others::{NonRecordLine, non_record_columns};
pub use records::RecordRows;
