//! Where what is typed ends: a command at the end of its line, SQL at a semicolon.

use reedline::{ValidationResult, Validator};

use super::commands::bare;
use crate::query::completion::tokenize;

/// What commands begin with.
const MARKS: [char; 2] = ['.', '\\'];

/// Is this a command of the shell, not SQL?
pub(super) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(MARKS) || bare(text).is_some()
}

/// Has it been typed to its end?
pub(super) fn is_complete(text: &str) -> bool {
    if is_command(text) {
        return true;
    }
    let tokens = tokenize(text);
    let last = tokens.iter().rev().find(|token| token.is_significant());
    let is_open = tokens.last().is_some_and(|token| token.is_open);
    !is_open && last.is_none_or(|last| last.text == ";")
}

/// Is there anything but space and comments?
pub(super) fn says_something(text: &str) -> bool {
    let tokens = tokenize(text);
    let mut said = tokens.iter().filter(|token| token.is_significant());
    said.any(|token| token.text != ";")
}

/// The commands and the SQL of a file, in order.
pub(super) fn entries(text: &str) -> Vec<String> {
    let (mut entries, mut begun) = (Vec::new(), String::new());
    for line in text.lines() {
        if begun.trim().is_empty() && is_command(line) {
            entries.push(line.trim().to_owned());
            continue;
        }
        begun.push_str(line);
        begun.push('\n');
        if line.contains(';') && is_complete(&begun) {
            entries.push(std::mem::take(&mut begun));
        }
    }
    entries.push(begun);
    entries.retain(|entry| says_something(entry));
    entries
}

/// Tells the editor whether Enter ends what is typed.
pub(super) struct Ends;

impl Validator for Ends {
    fn validate(&self, line: &str) -> ValidationResult {
        if is_complete(line) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_ends_at_a_semicolon_and_commands_at_the_line() {
        for complete in [
            "",
            "  ",
            "-- only this",
            "SELECT 1;",
            "SELECT ';' ; -- done",
            ".tables",
            "  \\d records",
            "SELECT 1; SELECT 2;",
            "help",
            "exit ;",
        ] {
            assert!(is_complete(complete), "{complete}");
        }
        for open in [
            "SELECT 1",
            "SELECT ';",
            "SELECT 1; SELECT 2",
            "SELECT 1 -- ;",
            "SELECT 1; /* and",
        ] {
            assert!(!is_complete(open), "{open}");
        }
    }

    #[test]
    fn a_file_has_commands_and_statements() {
        let text = "-- a file\n.timer on\nSELECT 1,\n  ';\n.no command';\n\\d\nSELECT 2; SELECT 3;\nSELECT 4\n";
        assert_eq!(
            entries(text),
            [
                "-- a file\n.timer on\nSELECT 1,\n  ';\n.no command';\n",
                "\\d",
                "SELECT 2; SELECT 3;\n",
                "SELECT 4\n"
            ]
        );
    }
}
