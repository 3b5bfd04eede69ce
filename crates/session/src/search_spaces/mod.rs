//! Search spaces of the graphs of autotuners: which were measured exhaustively.
//!
//! `spaces` has what sources state; `search_spaces()` compares it with the records, set by set.

mod coverage;
mod graph_records;
mod stated_spaces;
mod table;

pub(crate) use table::register;
