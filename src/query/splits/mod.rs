//! Splits as SQL sees them: what stays together, which part a key is in, and the expression that `split('NAME')` stands for.
//!
//! ```text
//!  splits (a row) ─▶ Definition ─▶ Parts: key ─▶ part        labels: graph ─▶ keys
//!                                       └──────────┬─────────────────┘
//!                                    Written: an expression over the columns of a record
//! ```
//!
//! A part follows from the definition and from the keys of a row alone, never from other rows: so what is appended moves nothing.
//! A graph with several keys (`structure`, `network`) is in the part of all of them, or in none where they differ.

mod definition;
mod labels;
mod parts;
mod tables;
mod unit;
mod written;

pub(crate) use definition::{Definition, Kind, Stored, all, digest, find, lines};
pub(crate) use labels::{Label, labels_of_graphs};
pub(crate) use parts::place;
pub(crate) use tables::{line_key, task_key};
pub use unit::SplitUnit;
pub(crate) use written::{Written, written};
