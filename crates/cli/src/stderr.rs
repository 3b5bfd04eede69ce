//! Messages on standard error: notes, hints, progress. Results go to standard output.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use tsql_error::redact::{escape_control_characters, redact_urls};

/// Set by `--quiet`.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// When output is colored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless the variable NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The value of `--color`: 0 for auto, 1 for always, 2 for never.
static COLOR: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Applies `--quiet` and `--color` to the whole process.
pub(super) fn configure(is_quiet: bool, color: Color) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
    COLOR.store(color as u8, Ordering::Relaxed);
}

/// Returns whether text on standard output is colored.
pub(super) fn has_color() -> bool {
    match COLOR.load(Ordering::Relaxed) {
        1 => true,
        2 => false,
        _ => {
            let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            !is_off && !is_dumb && std::io::stdout().is_terminal()
        }
    }
}

/// Returns whether progress is shown: standard error is a terminal, and `--quiet` is not set.
pub(super) fn shows_progress() -> bool {
    !IS_QUIET.load(Ordering::Relaxed) && std::io::stderr().is_terminal()
}

/// Prints a line, unless `--quiet` is set. A closed standard error is no failure.
pub(super) fn print_message(text: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        print_error(text);
    }
}

/// Prints the line of an error, with `--quiet` too.
pub(super) fn print_error(text: &str) {
    let text = redact_urls(text);
    let _ = writeln!(
        std::io::stderr().lock(),
        "{}",
        escape_control_characters(&text)
    );
}

/// As [`print_message`], with the secrets of the text, and with `--quiet` too.
#[cfg(feature = "ui")]
pub(super) fn print_secret_message(text: &str) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "{}",
        escape_control_characters(text)
    );
}

/// Returns a count and its noun: `1 file`, `2 files`.
pub(super) fn count_noun(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
