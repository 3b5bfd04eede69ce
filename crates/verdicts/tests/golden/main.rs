//! Golden values and required rates of `shared/golden/regressions.json`: real pairs of runs in which nothing changed, and
//! simulated runs whose truth is known. The expected counts were computed by an independent Python program.
//!
//! `cargo test -p tensorsql-verdicts --test golden -- --nocapture` prints the rates that were reached.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::missing_docs_in_private_items,
    missing_docs,
    reason = "a test fails by panicking and prints what it reached"
)]

mod functions;
mod random;
mod real_runs;
mod scenarios;
mod series;
mod shared;
mod simulation;
mod timing;
