//! Recorded corrections: changed labels, retracted and restored records.
//!
//! ```text
//! correct   records ─▶ retracted ─▶ sources (their files)      labels of whole sources
//! retract   retracted ─▶ records                               rows copied, then deleted
//! restore   records ─▶ retracted                               rows copied back, then deleted
//! replace   retracted ─▶ records ─▶ sources                    rows copied, then deleted as new ones are added
//! ```
//!
//! Each correction is recorded in `corrections` before it begins and marked there when it is done. Only one runs at a
//! time. The same call finishes an interrupted one. Retracted records are still part of their file:
//! [`Store::export`](crate::Store::export) writes it byte for byte.
//!
//! ```
//! use tsql::corrections::CorrectionOptions;
//! use tsql::Store;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let options = CorrectionOptions::why("the fan was broken");
//! let retracted = store.retract("platform = 'epyc-1t' AND line = 1", &options).await?;
//! assert!(retracted.records > 0);
//! let restored = store.restore("true", &options.all(true)).await?;
//! assert_eq!(restored.records, retracted.records);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod correct;
mod correction_log;
mod duplicate_sources;
mod label;
mod options;
mod replace;
mod retract;

pub use correction_log::Correction;
pub use label::Label;
pub use options::{CorrectionKind, CorrectionOptions, CorrectionReport};
