//! Splits in SQL: units, parts of keys, and the expression that replaces `split('NAME')`.
//!
//! ```text
//!  splits (a row) ─▶ SplitDefinition ─▶ SplitParts: key ─▶ part        labels: graph ─▶ keys
//!                                             └──────────┬─────────────────┘
//!                                     SplitExpr: an expression over the columns of a record
//! ```
//!
//! A part depends only on the definition and on the keys of the row, never on other rows. Appended rows therefore do
//! not move existing ones. A graph with several keys (`structure`, `network`) is in the part of all of them. It has no
//! part if they differ.

mod definition;
mod labels;
mod parts;
mod split_expr;
mod tables;
mod unit;

pub use definition::{
    SplitDefinition, StoredKind, StoredPart, all_definitions, digest, find_definition, stored_lines,
};
pub use labels::{Label, labels_of_graphs};
pub use parts::part_index;
pub use split_expr::{SplitExpr, split_expr};
pub use tables::{line_key, task_key};
pub use unit::SplitUnit;
