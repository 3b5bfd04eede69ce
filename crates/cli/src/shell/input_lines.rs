//! End of an entry: a command ends with its line, SQL at a semicolon.

use reedline::{ValidationResult, Validator};
use tsql_dialect::completion::tokenize;

use super::commands::bare;

/// First characters of commands.
const MARKS: [char; 2] = ['.', '\\'];

/// Returns whether a text is a command of the shell, not SQL.
pub(super) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(MARKS) || bare(text).is_some()
}

/// Returns whether an entry is complete.
pub(super) fn is_complete(text: &str) -> bool {
    if is_command(text) {
        return true;
    }
    let tokens = tokenize(text);
    let last = tokens.iter().rev().find(|token| token.is_significant());
    let is_open = tokens.last().is_some_and(|token| token.is_open);
    !is_open && last.is_none_or(|last| last.text == ";")
}

/// Returns whether a text contains more than space, comments and semicolons.
pub(super) fn has_content(text: &str) -> bool {
    let tokens = tokenize(text);
    let mut significant = tokens.iter().filter(|token| token.is_significant());
    significant.any(|token| token.text != ";")
}

/// Returns the commands and the SQL of a file, in order.
pub(super) fn entries(text: &str) -> Vec<String> {
    let (mut entries, mut pending) = (Vec::new(), String::new());
    for line in text.lines() {
        if pending.trim().is_empty() && is_command(line) {
            entries.push(line.trim().to_owned());
            continue;
        }
        pending.push_str(line);
        pending.push('\n');
        if line.contains(';') && is_complete(&pending) {
            entries.push(std::mem::take(&mut pending));
        }
    }
    entries.push(pending);
    entries.retain(|entry| has_content(entry));
    entries
}

/// Validator that decides whether Enter ends an entry.
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
