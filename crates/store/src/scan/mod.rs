//! Versions of tables as tables of DataFusion.

pub(crate) mod read_tables;
pub(crate) mod rule_switches;
pub(crate) mod stored_table;
