//! Numeric features of configurations that other programs computed, such as TVM's feature extraction, joined by key.
//!
//! ```text
//!  a file, a query ─▶ keys and numbers ─▶ known? duplicate? same length? ─▶ one commit of `features`
//!  (config_key, a list or a column for each number)   (rejected: counted, with their lines)
//! ```
//!
//! * All rows of a version of a name have the same length, and each configuration has one row. Different numbers for it
//!   are rejected; they need another version.
//! * Stored rows are not written again: the import is idempotent.
//! * Training files include features with `--features NAME`; SQL has the table `features`.

mod columns;
mod configurations;
mod import;
mod options;
mod report;
mod row_import;

pub use import::import_features;

pub use options::FeaturesOptions;
pub use report::{FeaturesImported, RejectedRow, RowRejection};
