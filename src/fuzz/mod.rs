//! Whatever comes from outside, as functions of any bytes: nothing of it may end in a panic, ask for more
//! memory than its bytes warrant, or be given back as something else.
//!
//! Tests run each target over `fuzz/corpus/<target>` and over mutations of it; `fuzz/run <target>` lets
//! libFuzzer look for inputs that reach new code. What was found goes into the corpus.

mod columns;
mod files;
mod kept;
mod metaschedule;
mod networks;
#[cfg(feature = "cluster")]
mod plans;
mod rows;
#[cfg(test)]
mod tests;
mod typed;
mod whole;

/// Looks at some bytes; panics where a promise is broken.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("auto_scheduler", files::auto_scheduler),
    ("measured", files::measured),
    ("metaschedule", metaschedule::records),
    ("metaschedule_workload", metaschedule::workloads),
    ("npz", files::npz),
    ("sample", files::sample),
    ("benchmark_log", files::benchmark_log),
    ("pickle", networks::pickle),
    ("tvm_json", networks::tvm_json),
    ("arrow", files::arrow),
    ("recognised", files::recognised),
    ("columns", columns::columns),
    ("sketches", columns::sketches),
    ("entry", kept::entry),
    ("sums", kept::sums),
    ("journal", kept::journal),
    ("manifest", typed::manifest),
    ("sql", typed::sql),
    ("given_back", whole::given_back),
    #[cfg(feature = "cluster")]
    ("plan", plans::plan),
];
