//! Fuzz targets for all external input, as functions of arbitrary bytes. No input may cause a panic, excessive memory
//! use, or an export that differs from the input.
//!
//! Tests run each target over `fuzz/corpus/<target>` and over mutations of it; `fuzz/run <target>` runs libFuzzer to
//! find inputs that reach new code. Its findings are added to the corpus. The target `plan` needs parts of a worker that
//! exist only with `cfg(fuzzing)`; in tests, `tsql_worker` runs its corpus.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a defect must end the process"
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]

mod autotuners;
mod columns;
mod files;
mod metaschedule;
mod networks;
#[cfg(fuzzing)]
mod plans;
mod round_trip;
mod rows;
mod store_files;
#[cfg(test)]
mod tests;
mod user_input;

use tsql_formats::Dialect;

/// Function of arbitrary bytes that panics if a property is violated.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A function of its own.
    Bytes(fn(&[u8])),
    /// The lines of a dialect.
    Lines(Dialect),
}

impl Target {
    /// Processes some bytes.
    pub fn run(self, bytes: &[u8]) {
        match self {
            Self::Bytes(function) => function(bytes),
            Self::Lines(dialect) => files::lines(dialect, bytes),
        }
    }
}

/// A name and the function that reads the input.
type Function = (&'static str, fn(&[u8]));

/// Targets with a function of their own, by name.
const FUNCTIONS: &[Function] = &[
    ("autotuners", autotuners::file),
    ("metaschedule", metaschedule::records),
    ("metaschedule_workload", metaschedule::workloads),
    ("npz", files::npz),
    ("sample", files::sample),
    ("benchmark_log", files::benchmark_log),
    ("pickle", networks::pickle),
    ("tvm_json", networks::tvm_json),
    ("arrow", files::arrow),
    ("recognised", files::detect_format),
    ("columns", columns::columns),
    ("sketches", columns::sketches),
    ("entry", store_files::entry),
    ("sums", store_files::sums),
    ("journal", store_files::journal),
    ("manifest", user_input::manifest),
    ("sql", user_input::sql),
    ("given_back", round_trip::ingest_round_trip),
    #[cfg(fuzzing)]
    ("plan", plans::plan),
];

/// Returns all targets by name: those with a function of their own, and one for each other dialect.
pub fn targets() -> impl Iterator<Item = (&'static str, Target)> {
    let functions = FUNCTIONS.iter().copied();
    let functions = functions.map(|(name, function)| (name, Target::Bytes(function)));
    let has_function = |name: &str| FUNCTIONS.iter().any(|(other, _)| *other == name);
    let dialects = Dialect::ALL.iter().copied();
    let dialects = dialects.filter(move |dialect| !has_function(dialect.name()));
    functions.chain(dialects.map(|dialect| (dialect.name(), Target::Lines(dialect))))
}
