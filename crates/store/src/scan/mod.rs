//! DataFusion table providers for versions of tables.

pub(crate) mod read_tables;
pub(crate) mod rollup_table;
pub(crate) mod stored_table;
