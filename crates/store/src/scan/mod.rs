//! Versions of tables as tables of DataFusion.

pub(crate) mod read_tables;
pub(crate) mod rollup_table;
pub(crate) mod stored_table;
