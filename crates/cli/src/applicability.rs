//! Rejects global options that a command cannot use, when the command line is parsed.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// Commands that need no store.
const WITHOUT_STORE: [&str; 4] = ["completions", "functions", "man", "verify"];

/// Commands that change a store, and so work on its newest version. `tag create` may name an earlier one.
const CHANGE: [&str; 26] = [
    "append",
    "check",
    "correct",
    "import features",
    "ingest",
    "init",
    "measure exec",
    "measure resume",
    "measure run",
    "note create",
    "note delete",
    "optimize",
    "platform set",
    "platform unset",
    "restore",
    "retract",
    "split create",
    "split delete",
    "store probe",
    "subset create",
    "subset delete",
    "tag delete",
    "vacuum",
    "worker run",
    "worker status",
    "measure repeat",
];

/// Rejects options on the command line that the command does not use. Values from the environment are ignored.
///
/// # Errors
/// [`ErrorKind::ArgumentConflict`].
pub(super) fn check(cli: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let mut path = Vec::new();
    let mut last = matches;
    while let Some((name, sub)) = last.subcommand() {
        path.push(name);
        last = sub;
    }
    let path = path.join(" ");
    let is_set = |id: &str| {
        let has = last.try_contains_id(id).unwrap_or(false);
        has && last.value_source(id) == Some(ValueSource::CommandLine)
    };
    let needs_no_store = WITHOUT_STORE.contains(&path.as_str());
    let changes = CHANGE.contains(&path.as_str());
    let wrong = if is_set("at") && (needs_no_store || changes) {
        Some(("--at", "reads an earlier version of a store"))
    } else if is_set("sample") && (needs_no_store || changes) {
        Some(("--sample", "reads the built-in sample"))
    } else if is_set("workers") && (needs_no_store || changes && path != "worker status") {
        Some(("--workers", "distributes a query"))
    } else {
        None
    };
    match wrong {
        None => Ok(()),
        Some((option, purpose)) => Err(cli.error(
            ErrorKind::ArgumentConflict,
            format!(
                "`{option}` {purpose}, and `tsql {path}` cannot use it\nhint: leave out {option}"
            ),
        )),
    }
}
