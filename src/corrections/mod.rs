//! Corrections, never silent: labels that were wrong, records that are not to count.
//!
//! ```text
//! correct   records ─▶ retracted ─▶ sources (their files)      labels of whole sources
//! retract   retracted ─▶ records                               rows copied, then taken out
//! restore   records ─▶ retracted                               rows put back, then taken out
//! replace   retracted ─▶ records ─▶ sources                    rows copied, then taken out as those of another file come
//! ```
//!
//! Each is written into `corrections` before it begins and marked there when it is done, and one of them is at work at a
//! time. One that was broken off is finished by the same call again. What was retracted is part of its file still:
//! [`Store::export`](crate::Store::export) gives that back byte for byte.
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
mod doubled;
mod label;
mod ledger;
mod options;
mod replace;
mod retract;

pub use label::Label;
pub use ledger::Correction;
pub use options::{Corrected, CorrectionOptions, Kind};
