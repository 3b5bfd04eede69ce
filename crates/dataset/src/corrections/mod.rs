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
//! [`export`](crate::export::export) writes it byte for byte.
//!
//! ```
//! use tsql_dataset::corrections::CorrectionOptions;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let options = CorrectionOptions::why("the fan was broken");
//! let retracted = tsql_dataset::corrections::retract(&store, "platform = 'epyc-1t' AND line = 1", &options).await?;
//! assert!(retracted.records > 0);
//! let restored = tsql_dataset::corrections::restore(&store, "true", &options.all(true)).await?;
//! assert_eq!(restored.records, retracted.records);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod correct;
mod correction_log;
mod duplicate_sources;
mod label;
mod options;
mod replace;
mod retract;

pub use correct::correct;
pub use correction_log::list_corrections;
pub use replace::ingest_replacing;
pub use retract::{restore, retract};

pub use correction_log::Correction;
pub use label::Label;
pub use options::{CorrectionKind, CorrectionOptions, CorrectionReport};
