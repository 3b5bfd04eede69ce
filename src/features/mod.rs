//! Features that other programs computed of configurations, TVM's feature extraction say: rows of numbers, joined by key.
//!
//! ```text
//!  a file, a query ─▶ keys and numbers ─▶ known? doubled? of the same length? ─▶ one commit of `features`
//!  (config_key, a list or a column for each number)   (refused: counted, with their lines)
//! ```
//!
//! * A version of a name has numbers of one length, and one row for a configuration; other numbers for it are refused, and are
//!   another version.
//! * What is there already is not written again: the same import twice is one.
//! * Files for training take them as `--features NAME`; in SQL they are the table `features`.

mod columns;
mod configurations;
mod import;
mod options;
mod report;
mod taken;

pub use options::FeaturesOptions;
pub use report::{FeaturesImported, RefusedRow, RowRefusal};
