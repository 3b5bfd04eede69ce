//! Commits and changes of existing tables: deletion, tags and verification.

pub(crate) mod commit;
pub(crate) mod delete_rows;
pub(crate) mod integrity_check;
pub(crate) mod tags;
