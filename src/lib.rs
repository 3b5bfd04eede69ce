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
//! What needs neither DataFusion nor Arrow lies in crates of its own, below `crates`: `metrics`
//! (statistics, rankings, speedup scores), `codecs` (numbers, programs, graphs and tensors as few
//! bytes), `formats` (files to rows), `measure` (kernels to timings), `plot` (pictures), `folders` (the user's own).
//! A build without the features `cluster` (which brings [`worker`], too), `measure` (and `trials`), `cuda`, `plot` or `ui` leaves that out.
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
//! // And every file comes back, byte for byte (npz files of TpuGraphs: array for array).
//! let folder = tempfile::tempdir().unwrap();
//! let exported = store.export(folder.path(), &ExportOptions::default()).await?;
//! assert!(exported.damaged.is_empty());
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```
//!
//! What works on any store is a method of [`Store`], with the options and reports of [`ingest`],
//! [`query`], `plot`, [`compare`], [`corrections`], [`copy`], [`export`], [`publish`], [`splits`], [`training`], [`check`], [`score`] and [`optimize`]. What is about one dataset is a module of its name:
//! [`auto_scheduler`], [`metaschedule`], [`tpugraphs`], [`graphnet`].
//!
//! # Glossary
//!
//! One word for each thing, in the code, in SQL and on the command line:
//!
//! - **graph** (core graph): what is computed, stored once. TenSet's *workload*.
//! - **configuration**: one way to compile a graph. TenSet's *program* or schedule.
//! - **sketch**: what many configurations share; **parameters**: the numbers of one of them.
//! - **record**: one measurement of a configuration on a platform. It is `ok`, `failed` (with TVM's
//!   error number) or `unmeasured`.
//! - **repeat**: one timing of a record. **runtime**: the mean of its repeats.
//! - **platform**: a kind of hardware by its short name. **environment**: target string, hardware
//!   parameters and settings as a source states them.
//! - **task**: a graph on a platform.
//! - **source**: an ingested file, a row of the view `sources`; **segment**: what one ingest read of it, a row of the
//!   table `source_segments`, the **ingest log** (here: ledger), whose folder is called `sources`.
//! - **reject**: a line that was refused. **verbatim**: the text of a line that its columns do not
//!   rebuild.
//! - **checksum**: XXH3-64 of a part of a data file, or of what a log says. **damage**: bytes that are
//!   not those that were written.
//! - **label**: a key and a value that people give to a source. **note**: what they say of records, sources or a platform.
//! - **version** of a table: what one commit made of it. **tag**: a name for the versions of all tables at one moment.
//! - **side** of a comparison: records of a platform, a tag, a label, a source or a time. **pair**: a graph and a configuration that both sides have.
//! - **correction**: a label that was given wrong and is changed. **retracted** record: one that is in no answer and still in its file.
//!   **label** of a source: `key=value`, what somebody says of it. **note**: what somebody says of records, a source or a platform.
//! - **dataset**: `tenset` (all auto_scheduler logs), `autotvm`, `metaschedule` (tuning records) and
//!   `metaschedule_workloads`, `network_info` (TenSet's networks and tasks), `tpugraphs`, `graphnet`, `measured` (what this or another program timed, as lines of JSON).
//!
//! Of training:
//!
//! - **selection**: the rows of a query over a store as it was, numbered from 0 and kept in the user's cache. **group**: rows of it that stay together.
//! - **epoch**: all rows, or all files, once. **step**: a batch of rows, or a graph with some of its configurations. **position**: the epoch and step that come next.
//! - **key** of a graph, a configuration or an environment: 128 bits of its content, the same in every store.
//! - **split**: a division of records into the **parts** train, valid and test, by **units** that stay together. **leak**: what records
//!   of two parts share.
//! - **feature**: numbers of a record that a model learns from: computed here by a SQL function, or **imported**, computed by another
//!   program and joined by key.
//! - **rank** of a **world**: one of several processes that share the steps of an epoch.
//!
//! Of several machines:
//!
//! - **worker**: a process that runs parts of questions for others. **stage**: a part of a plan between two exchanges of
//!   rows; **task**: what one worker runs of a stage.
//!
//! Of TpuGraphs:
//!
//! - **sample**: a record, by its index in its file, from 0. **collection**: `tile:xla`,
//!   `layout:<source>:<search>`; **split**: `train`, `valid`, `test`.
//! - **node type**: an opcode with its features. **slot**: a configurable node; **group**: slots
//!   that always get the same layouts; **code**: which of a group's layouts a configuration takes.
//! - **edge**: `user` consumes the output of `operand`.
//!
//! Of GraphNet:
//!
//! - **sample**: a directory with a captured graph and what is known of its tensors; **variant**:
//!   another set of shapes for the graph of a sample.
//! - **call**: an operation with its constants; its **signature** has `?` for each value that it
//!   consumes. A node type is a distinct one.
//! - **run**: a record of a benchmark log; **check**: one of its outputs under one tolerance.
//! - **S(t)**, **ES(t)**: the (error-aware) speedup score at tolerance t.
//! - **subset**: a named, versioned list of samples.
//!
//! Of what is measured here:
//!
//! - **manifest**: a program, its workloads and arguments, and the **space** of its configurations.
//! - **trial**: a workload and a configuration, bound and ready to build; its **outcome**: repeats, or an error.
//! - **clean** repeat: one that nothing disturbed; only those count. **journal**: lines of a run that
//!   may not be in the store yet.
//!
//! # Limits
//!
//! A line has at most 16 MiB, a number at most 18 digits (more are rounded in SQL and kept in the
//! text), lists in a program nest 16 deep. A record costs 9 to 20 bytes on disk. Memory: 2 MiB of
//! text for each parsing thread and 2^18 parsed records. An array of an npz file has at most 2^24
//! numbers, except the configurations of layout files, which stream by and may have any size; a
//! runtime is at most 2^53 ns; a group of slots knows at most 65,536 layouts.
//! A sample of GraphNet (at most 64 MiB) and a benchmark log (at most 128 MiB) are in memory as a whole;
//! brackets and operators nest 64 deep. A record of a log is looked for in its first 4 MiB.
//!
//! # Where to add what
//!
//! A column: `schemas/<table>.toml`. A question: `queries/<name>.sql`. A SQL function: a file in
//! `query/functions`. A metric: a folder in `crates/metrics`. A format: a module in `crates/formats` and a room in
//! `formats`. Each is listed once, beside its siblings.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may say how much it looked at"
    )
)]
#![cfg_attr(
    not(feature = "cli"),
    allow(
        dead_code,
        unused_imports,
        reason = "some of it is there for the command"
    )
)]

use tsql_error as error;
pub use tsql_schema as schema;
use tsql_schema::{column, part};

pub mod store;

mod chosen;
#[cfg(feature = "cluster")]
pub mod cluster;
mod dedupe;
mod delivered;

mod ledger;
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
pub mod metaschedule;
#[cfg(feature = "plot")]
pub mod page;
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
    reason = "what is broken here is to end the process"
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
pub use part::Part;
pub use publish::{PublishOptions, verify_publication};
pub use query::SessionOptions;
pub use splits::SplitOptions;
pub use store::{At, Location, Store, Tag, VacuumOptions};
