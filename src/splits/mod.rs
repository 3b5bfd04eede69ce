//! Splits into train, valid and test that stay what they are, and how much leaks between their parts.
//!
//! A unit's part follows from its key and the definition alone ([`SplitUnit`]), so that what is ingested later moves nothing. What
//! does not follow from keys (hold-outs, clusters of keys that graphs share, cuts in time) is kept in the row of the split. In SQL
//! `split('NAME')` is the part of a row of `records`.
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
//! tsql::query::ask(&store.session_with(&options).await?, sql, &[]).await?.show().await.unwrap();
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod asked;
mod check;
mod clusters;
mod create;
mod cuts;
mod held;
mod leaks;
mod level;
mod listed;
mod options;
mod presets;
mod scope;
mod session;
mod split;

pub use crate::query::SplitUnit;
pub use asked::AskedSplit;
pub use check::SplitLeaks;
pub use create::CreatedSplit;
pub use leaks::Leaks;
pub use level::LeakLevel;
pub use options::SplitOptions;
pub use presets::{SplitPreset, split_presets};
pub use split::{PartCount, Split};
