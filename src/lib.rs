//! An embedded columnar store and SQL engine for tensor-program performance data: computation
//! graphs, the configurations that a compiler tried on them, and the measured timings.
//!
//! ```text
//!  files ─▶ formats ─▶ rows ─▶ ingest ─▶ store ─▶ query ─▶ export ─▶ files, selections
//!  kernels ─▶ measure ─▶ trials ──▶┘ ▲              └────▶ batch ─▶ training steps
//!                                    └ dedupe, ingest log: rows and files that the store has
//!  schema ── read by every stage ──
//! ```
//!
//! This crate is the facade: [`Store`] has a method for each operation, and the modules re-export the options and
//! reports of the crates below `crates`, which do the work. `docs/dev/architecture.md` lists them. Builds without the
//! features `cluster` (with [`worker`]), `measure` (with `trials`), `cuda`, `plot` or `ui` lack these modules.
//!
//! # A tour
//!
//! ```
//! use tsql::{ExportOptions, IngestOptions, Store};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! // A store is a directory; `memory:` is one that ends with the process.
//! let store = Store::create("memory:").await?;
//!
//! // Tuning logs go in: files, directories or patterns. The platform is the directory's name.
//! let report = store.ingest(&["data".to_owned()], &IngestOptions::default()).await?;
//! assert!(report.is_clean() && report.records > 0);
//!
//! // SQL comes out, through a DataFusion session: rows, or a stream of Arrow batches.
//! let context = store.session().await?;
//! let fastest = "SELECT platform, min(runtime_ns) FROM records GROUP BY platform";
//! let batches = context.sql(fastest).await.unwrap().collect().await.unwrap();
//! assert!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>() >= 2);
//!
//! // Every file is exported again, byte for byte (npz files of TpuGraphs: array for array).
//! let folder = tempfile::tempdir().unwrap();
//! let exported = store.export(folder.path(), &ExportOptions::default()).await?;
//! assert!(exported.damaged.is_empty());
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```
//!
//! Methods of [`Store`] work on any store. Their options and reports are in [`ingest`], [`query`], `plot`, [`compare`],
//! [`corrections`], [`copy`], [`export`], [`publish`], [`splits`], [`training`], [`check`], [`score`] and [`optimize`].
//! Modules with the name of a dataset work on it: [`auto_scheduler`], [`metaschedule`], [`tpugraphs`], [`graphnet`].
//!
//! # Glossary
//!
//! The same words are used in the code, in SQL and on the command line: `docs/reference/glossary.md` defines them. The
//! shortest form: a *graph* is a computation, a *configuration* one way to compile it, a *record* one measurement of a
//! configuration on a *platform*, a *source* an ingested file.
//!
//! # Limits
//!
//! A line has at most 16 MiB, a number at most 18 digits (more are rounded in SQL and kept in the
//! text), lists in a program nest 16 deep. A record takes about 24 bytes on disk. Memory: 2 MiB of
//! text for each parsing thread and 2^18 parsed records. An array of an npz file has at most 2^24
//! numbers, except the configurations of layout files, which stream by and may have any size; a
//! runtime is at most 2^53 ns; a group of slots knows at most 65,536 layouts.
//! A sample of GraphNet (at most 64 MiB) and a benchmark log (at most 128 MiB) are in memory as a whole;
//! brackets and operators nest 64 deep. A record of a log is looked for in its first 4 MiB.
//!
//! # Where to add what
//!
//! A column: `schemas/<table>.toml`. A built-in query: `queries/<name>.sql`. A SQL function: a file in
//! `crates/functions`. A metric: a folder in `crates/metrics`. A format: a module in `crates/formats` and an adapter in
//! `crates/adapters`. Each is listed once, beside its siblings.

use tsql_error as error;
use tsql_schema::shard;

pub use tsql_schema as schema;

pub mod store;

#[doc(hidden)]
pub use tsql_dataset::optional_setting;
#[cfg(all(feature = "measure", target_os = "linux"))]
pub use tsql_dataset::trials;
pub use tsql_dataset::{
    auto_scheduler, check, copy, corrections, diff, export, ingest, notes, optimize, platforms,
};
#[cfg(feature = "flight")]
pub use tsql_flight as flight;
#[cfg(feature = "mcp")]
pub use tsql_mcp as mcp;
pub use tsql_ml::{
    compare, features, graphnet, metaschedule, publish, replay, score, splits, tpugraphs, training,
    trend,
};
#[cfg(feature = "ui")]
pub use tsql_server::ui;
#[cfg(feature = "plot")]
pub use tsql_server::{html_report, plot};
pub use tsql_session as query;
#[cfg(feature = "cluster")]
pub use {tsql_cluster as cluster, tsql_worker as worker};

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use tsql_cli as cli;
#[doc(hidden)]
pub use tsql_store::atomic_output;

pub use {arrow, datafusion};

pub use check::CheckOptions;
pub use compare::CompareOptions;
pub use copy::CopyOptions;
pub use error::{Error, Result, SqlError, SqlSpan};
pub use export::ExportOptions;
pub use ingest::{AppendOptions, IngestOptions};
pub use optimize::OptimizeOptions;
pub use publish::{PublishOptions, verify_publication};
pub use query::SessionOptions;
pub use shard::Shard;
pub use splits::SplitOptions;
pub use store::{At, Location, Store, Tag, VacuumOptions};
