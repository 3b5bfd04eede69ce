//! The prompt: name and version of the store.

use std::borrow::Cow;

use reedline::{Color, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};
use tsql_error::redact::escape_control_characters;
use tsql_session::LiveSession;
use tsql_store::{At, FOLDER, Store};

/// Maximum number of characters of a name.
const NAME_CHARS: usize = 30;

/// The table whose version represents the store: each ingest commits its rows of this table last.
const INGEST_LOG: &str = "sources";

/// Name in the prompt without a store.
pub(super) const NO_STORE: &str = "no store";

/// Text before each line.
#[derive(Clone, Debug)]
pub(super) struct StorePrompt {
    first: String,
}

impl StorePrompt {
    /// Creates the prompt `name> ` or `name@version> `.
    pub(super) fn new(name: &str, version: Option<&str>) -> Self {
        let name: String = escape_control_characters(name)
            .chars()
            .take(NAME_CHARS)
            .collect();
        let first = match version {
            Some(version) => format!("{name}@{}> ", escape_control_characters(version)),
            None => format!("{name}> "),
        };
        Self { first }
    }

    /// Returns the width in terminal columns.
    fn width(&self) -> usize {
        unicode_width::UnicodeWidthStr::width(self.first.as_str())
    }
}

/// Returns the name of a store: the name of its folder, or of the parent folder of `.tsql`.
pub(super) fn name(store: &Store) -> String {
    let Some(folder) = store.location().local_directory() else {
        let url = store.location().as_str().trim_end_matches('/');
        return url.rsplit('/').next().unwrap_or(url).to_owned();
    };
    let canonical = folder.canonicalize();
    let folder = canonical.as_deref().unwrap_or(folder);
    let names = folder.ancestors().filter_map(|folder| folder.file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    let name = names.find(|name| name != FOLDER);
    name.unwrap_or_else(|| folder.to_string_lossy().into_owned())
}

/// Returns the selected version of the store: a tag or a time, or else the newest version.
pub(super) fn version(at: Option<&At>, session: &LiveSession) -> Option<String> {
    match at {
        Some(at) => Some(at.to_string()),
        None => session
            .version(INGEST_LOG)
            .map(|version| version.to_string()),
    }
}

impl Prompt for StorePrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.first)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{:>width$}", "-> ", width = self.width()))
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "history",
            PromptHistorySearchStatus::Failing => "not in the history",
        };
        Cow::Owned(format!("({found}: {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        Color::Green
    }

    fn get_prompt_multiline_color(&self) -> Color {
        Color::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_go_on_are_aligned() {
        for (name, version, wanted) in [
            ("lab", Some("12"), "lab@12> "),
            ("größe", None, "größe> "),
            ("x\u{1b}[2J", None, "x\\u{1b}[2J> "),
        ] {
            let prompt = StorePrompt::new(name, version);
            assert_eq!(prompt.render_prompt_left(), wanted);
            let next = prompt.render_prompt_multiline_indicator();
            assert_eq!(next.chars().count(), wanted.chars().count());
            assert!(next.ends_with("-> "), "{next}");
        }
    }
}
