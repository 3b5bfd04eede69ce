//! Noise between runs, from the repeated records of a store.
//!
//! Comparisons use the pairs; the table function `noise_floors()` shows the floors.

mod floors_table;
mod repeated_records;
mod runs;

pub(crate) use floors_table::register;
pub use repeated_records::{FloorSelection, RepeatedRecords, read_repeated_records};
pub use runs::{RecordPosition, day_of, level, spoiled_expression};
