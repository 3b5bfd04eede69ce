//! Completion of commands and SQL in the shell.

mod command;
mod files;

use reedline::{Completer, CompletionResult, Span, Suggestion};
use tsql_dialect::completion::{Candidate, SharedVocabulary, complete_sql};

use command::of_command;

use super::input_lines::is_command;

/// Completes the beginning of a word with the words of the session.
pub(super) struct Words {
    pub(super) words: SharedVocabulary,
}

impl Completer for Words {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let before = line.get(..pos).unwrap_or(line);
        let found = self.words.read(|words| {
            if is_command(line) {
                of_command(words, before)
            } else {
                complete_sql(words, line, before, files::quote)
            }
        });
        let (prefix, mut found) = found;
        found.retain(|candidate| candidate.matches_prefix(prefix));
        let span = Span::new(before.len() - prefix.len(), before.len());
        let suggestions = found.iter().map(|found| suggestion(found, prefix, span));
        CompletionResult::fresh(suggestions.collect::<Vec<_>>())
    }
}

fn suggestion(found: &Candidate, prefix: &str, span: Span) -> Suggestion {
    Suggestion {
        value: found.completion_text(prefix),
        description: Some(found.doc.clone()).filter(|doc| !doc.is_empty()),
        append_whitespace: found.has_space(),
        span,
        ..Suggestion::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_dialect::completion::{DocumentedName, TableEntry, Vocabulary};

    fn completer() -> Words {
        let named = |name: &str| DocumentedName {
            name: name.to_owned(),
            doc: "what it is".to_owned(),
        };
        let table = |columns: &[&str]| TableEntry {
            doc: "a table".to_owned(),
            columns: columns.iter().map(|name| named(name)).collect(),
        };
        let words = SharedVocabulary::default();
        words.replace(Vocabulary {
            tables: [
                ("records".to_owned(), table(&["runtime_ns", "platform"])),
                ("runs".to_owned(), table(&["run_id", "repeat"])),
            ]
            .into(),
            functions: [("round".to_owned(), "round(x): to whole numbers".to_owned())].into(),
        });
        Words { words }
    }

    /// Returns the suggestions at the position of `|`.
    fn suggest(line: &str) -> Vec<String> {
        let pos = line.find('|').unwrap();
        let found = completer().complete(&line.replacen('|', "", 1), pos);
        let values = found.suggestions().iter();
        values.map(|found| found.value.clone()).collect()
    }

    #[test]
    fn names_fit_where_the_cursor_is() {
        assert_eq!(suggest("SELECT * FROM r|"), ["records", "runs"]);
        assert_eq!(suggest("select count(*) from RU|"), ["runs"]);
        assert_eq!(suggest("sel|"), ["select"]);
        assert_eq!(suggest("SEL|"), ["SELECT"]);
        assert_eq!(
            suggest("SELECT r.| FROM records AS r"),
            ["runtime_ns", "platform"]
        );
        assert_eq!(suggest("SELECT runs.re| FROM runs"), ["repeat"]);
        assert_eq!(suggest("SELECT | FROM runs"), ["run_id", "repeat"]);
        let first = suggest("SELECT r| FROM runs");
        assert_eq!(first.first().map(String::as_str), Some("run_id"));
        for also in ["round(", "RIGHT", "records", "runtime_ns"] {
            let also = match also {
                "RIGHT" => "right",
                also => also,
            };
            assert!(first.iter().any(|value| value == also), "{also}: {first:?}");
        }
        assert!(suggest("SELECT 1 -- rec|").is_empty());
    }

    #[test]
    fn commands_and_what_they_take_are_suggested() {
        assert_eq!(suggest(".ti|"), [".timer"]);
        assert_eq!(suggest(".timer o|"), ["on", "off"]);
        assert_eq!(suggest(".mode mark|"), ["markdown"]);
        assert_eq!(suggest("\\d rec|"), ["records"]);
        assert_eq!(
            suggest(".queries best-program-per|"),
            ["best-program-per-graph"]
        );
        let set = suggest(".queries best-program-per-graph pl|");
        assert_eq!(set, ["platform="]);
        assert_eq!(suggest(".explain select run_| from runs"), ["run_id"]);
    }
}
