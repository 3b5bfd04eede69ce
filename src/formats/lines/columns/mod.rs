//! The way in: rows of logs as columns, whatever their lines look like.

mod details;
mod environments;
mod others;
mod records;

pub(crate) use environments::EnvironmentRows;
pub(crate) use others::{Other, other_columns};
pub(crate) use records::RecordRows;
