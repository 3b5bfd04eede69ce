//! An embedded columnar store and SQL engine for tensor-program performance data: computation
//! graphs, the configurations that a compiler tried on them, and the measured timings.
//!
//! ```text
//!  files ─▶ formats ─▶ rows ─▶ ingest ─▶ store ─▶ query ─▶ export ─▶ files, selections
//!  kernels ─▶ measure ─▶ trials ──▶┘ ▲              └────▶ batch ─▶ training steps
//!                                    └ dedupe, ledger: what the store knows already
//!  schema ── read by every stage ──
//! ```
//!
//! Crates below `crates` carry it. Seven build without DataFusion and Arrow: `metrics` (statistics, rankings, speedup
//! scores), `codecs` (compact bytes for numbers, programs, graphs and tensors), `formats` (files to rows), `graphs`
//! (features of computation graphs), `measure` (kernels to timings), `plot` (charts), `folders` (folders of the user).
//! `error`, `schema`, `store` and `functions` (SQL functions) are the base of this one. Builds without the features `cluster` (with [`worker`]),
//! `measure` (with `trials`), `cuda`, `plot` or `ui` lack these modules.
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
//! `formats`. Each is listed once, beside its siblings. `docs/dev/architecture.md` is the map of the code.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "tests fail by panicking, and may print counts"
    )
)]
#![cfg_attr(
    not(feature = "cli"),
    allow(
        dead_code,
        unused_imports,
        reason = "some items are used only by the command line"
    )
)]

use tsql_error as error;
pub use tsql_schema as schema;
use tsql_schema::{column, shard};

pub mod store;

mod atomic_output;
#[cfg(feature = "cluster")]
pub mod cluster;
mod dedupe;
mod line_selection;

mod ingest_log;
pub mod query;

mod formats;

pub mod optimize;

pub mod ingest;

pub mod check;
pub mod compare;
pub mod copy;
pub mod corrections;
mod demo;
pub mod diff;
pub mod export;
pub mod features;
pub mod notes;
#[cfg(feature = "plot")]
pub mod plot;
pub mod publish;
pub mod splits;
pub mod training;
#[cfg(all(feature = "measure", target_os = "linux"))]
pub mod trials;
mod upkeep;
#[cfg(feature = "cluster")]
pub mod worker;

pub mod auto_scheduler;
pub mod graphnet;
#[cfg(feature = "plot")]
pub mod html_report;
pub mod metaschedule;
pub mod score;
pub mod tpugraphs;
#[cfg(feature = "ui")]
pub mod ui;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
#[allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a defect must end the process"
)]
pub mod fuzz;

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
