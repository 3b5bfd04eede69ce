//! Reproducible splits into train, valid and test, and leaks between their parts.
//!
//! The part of a unit depends only on its key and the definition ([`SplitUnit`]), so data that is ingested
//! later moves no unit. Everything that does not follow from keys (hold-outs, clusters of keys that graphs
//! share, cuts in time) is stored in the row of the split. In SQL `split('NAME')` is the part of a row of
//! `records`.
//!
//! ```
//! use tsql::{Store, splits::{SplitOptions, SplitUnit}};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let made = store.create_split("by-task", &SplitOptions::default().unit(SplitUnit::Task).seed(7)).await?;
//! assert_eq!(made.split.full_name(), "by-task@1");
//! let leaks = store.check_split("by-task", None).await?;
//! assert!(leaks.is_clean(), "{leaks:?}");
//! let sql = "SELECT split('by-task') AS part, count(*) FROM records GROUP BY part";
//! let options = tsql::SessionOptions::default().sql(sql);
//! tsql::query::run_sql(&store.session_with(&options).await?, sql, &[]).await?.show().await.unwrap();
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod catalog;
mod check;
mod clusters;
mod create;
mod cuts;
mod hold_out;
mod leaks;
mod level;
mod options;
mod presets;
mod scope;
mod session;
mod split;
mod split_request;

pub use crate::query::SplitUnit;
pub use check::SplitLeaks;
pub use create::CreatedSplit;
pub use leaks::Leaks;
pub use level::LeakLevel;
pub use options::SplitOptions;
pub use presets::{SplitPreset, split_presets};
pub use split::{PartCount, Split};
pub use split_request::SplitRequest;
