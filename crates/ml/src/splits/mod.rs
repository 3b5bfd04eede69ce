//! Reproducible splits into train, valid and test, and leaks between their parts.
//!
//! The part of a unit depends only on its key and the definition ([`SplitUnit`]), so data that is ingested
//! later moves no unit. Everything that does not follow from keys (hold-outs, clusters of keys that graphs
//! share, cuts in time) is stored in the row of the split. In SQL `split('NAME')` is the part of a row of
//! `records`.
//!
//! ```
//! use tsql_ml::splits::SplitOptions;
//! use tsql_ml::splits::SplitUnit;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let made = tsql_ml::splits::create_split(&store, "by-task", &SplitOptions::default().unit(SplitUnit::Task).seed(7)).await?;
//! assert_eq!(made.split.full_name(), "by-task@1");
//! let leaks = tsql_ml::splits::check_split(&store, "by-task", None).await?;
//! assert!(leaks.is_clean(), "{leaks:?}");
//! let sql = "SELECT split('by-task') AS part, count(*) FROM records GROUP BY part";
//! let options = tsql_session::SessionOptions::default().sql(sql);
//! tsql_session::run_sql(&tsql_session::open_session_with(&store, &options).await?, sql, &[]).await?.show().await.unwrap();
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
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
mod part_count;
mod presets;
mod scope;
mod session;
mod split_request;

pub use catalog::{drop_split, find_split, list_splits, parts_of_split};
pub use check::check_split;
pub use create::create_split;

pub use check::SplitLeaks;
pub use create::CreatedSplit;
pub use leaks::Leaks;
pub use level::LeakLevel;
pub use options::SplitOptions;
pub use part_count::PartCount;
pub use presets::{SplitPreset, split_presets};
pub use split_request::SplitRequest;
pub use tsql_dialect::splits::SplitDefinition as Split;
pub use tsql_session::SplitUnit;
