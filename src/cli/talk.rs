//! What is said to the person at the terminal, on standard error.

use std::io::Write as _;

use crate::error::redact::{escaped, without_secrets};

/// A line for the person at the terminal. Nobody listening is no reason to fail.
pub(super) fn talk(text: &str) {
    let text = without_secrets(text);
    let _ = writeln!(std::io::stderr().lock(), "{}", escaped(&text));
}

/// As [`talk`], for whoever may know the secrets of the text.
#[cfg(feature = "ui")]
pub(super) fn talk_secrets(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", escaped(text));
}

/// A count and its noun: `1 file`, `2 files`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
