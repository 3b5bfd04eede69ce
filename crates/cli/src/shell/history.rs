//! History of the shell, in the user's state folder.

use std::fs::File;
use std::path::PathBuf;

use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery,
};

use crate::stderr::print_message;

/// Maximum number of stored entries; the oldest ones are removed first.
const ENTRIES: usize = 2000;

/// Maximum size of a stored entry in bytes: pasted text may have megabytes.
const ENTRY_BYTES: usize = 10_000;

/// Name of the history file.
const FILE: &str = "shell-history";

/// Variable with another folder.
const VARIABLE: &str = "TSQL_STATE";

/// Opens the history of the user. Without a file, the history ends with the shell.
pub(super) fn open() -> Bounded {
    let file = file().and_then(|file| {
        let opened = file.map(|file| FileBackedHistory::with_file(ENTRIES, file));
        opened.transpose().map_err(|error| error.to_string())
    });
    let history = file.unwrap_or_else(|reason| {
        print_message(&format!(
            "the history of this session is not saved: {reason}"
        ));
        None
    });
    Bounded(history.unwrap_or_default())
}

/// Returns the history file, in a folder that only the user can read; `None` without a home folder.
fn file() -> std::result::Result<Option<PathBuf>, String> {
    let Some(folder) = tsql_folders::state() else {
        return Ok(None);
    };
    let private = tsql_folders::create_private(&folder, VARIABLE);
    private.map_err(|error| error.to_string())?;
    let file = folder.join(FILE);
    let options = File::options().create(true).append(true).clone();
    tsql_folders::open_own(&file, &options)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Some(file))
}

/// A history that ignores entries of more than [`ENTRY_BYTES`] bytes.
#[derive(Debug)]
pub(super) struct Bounded(FileBackedHistory);

impl History for Bounded {
    fn save(&mut self, item: HistoryItem) -> Result<HistoryItem> {
        if item.command_line.len() > ENTRY_BYTES {
            return Ok(item);
        }
        self.0.save(item)
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.0.load(id)
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.0.count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.0.search(query)
    }

    fn update(
        &mut self,
        id: HistoryItemId,
        updater: &dyn Fn(HistoryItem) -> HistoryItem,
    ) -> Result<()> {
        self.0.update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.0.clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.0.delete(id)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.0.session()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_bounded_in_length_and_number() {
        let mut history = Bounded(FileBackedHistory::new(3).unwrap());
        for entry in ["a", "b", "c", "d", &"x".repeat(ENTRY_BYTES + 1)] {
            let item = HistoryItem::from_command_line(entry);
            history.save(item).unwrap();
        }
        let everything = SearchQuery::everything(reedline::SearchDirection::Forward, None);
        let found = history.search(everything).unwrap();
        let found: Vec<&str> = found
            .iter()
            .map(|item| item.command_line.as_str())
            .collect();
        assert_eq!(found, ["b", "c", "d"]);
    }
}
