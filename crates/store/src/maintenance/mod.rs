//! Commits and what changes a table afterwards: deletion, tags, verification, and the queue of writers.

pub(crate) mod commit;
pub(crate) mod delete_rows;
pub(crate) mod integrity_check;
pub(crate) mod tags;
