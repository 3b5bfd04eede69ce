//! Fuzz targets for all external input, as functions of arbitrary bytes. No input may cause a panic, excessive memory
//! use, or an export that differs from the input.
//!
//! Tests run each target over `fuzz/corpus/<target>` and over mutations of it; `fuzz/run <target>` runs libFuzzer to
//! find inputs that reach new code. Its findings are added to the corpus.

mod columns;
mod files;
mod metaschedule;
mod networks;
#[cfg(feature = "cluster")]
mod plans;
mod round_trip;
mod rows;
mod store_files;
#[cfg(test)]
mod tests;
mod user_input;

/// Processes some bytes. Panics if a property is violated.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("auto_scheduler", files::auto_scheduler),
    ("measured", files::measured_lines),
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
    #[cfg(feature = "cluster")]
    ("plan", plans::plan),
];
