//! What every format has. Each is a module of this crate: how its files are told, read and spelled.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};

use super::beside::Beside;
use super::rows::Rows;
use super::spelled::Speller;

/// A format of files.
pub trait Format: fmt::Debug + Sync {
    /// The dataset of what its files hold.
    fn dataset(&self) -> &'static str;

    /// What people ask for it by: its dataset, unless that has files of several kinds.
    fn name(&self) -> &'static str {
        self.dataset()
    }

    /// One of its files in words: `an auto_scheduler log`.
    fn described(&self) -> &'static str;
}

/// A format of logs: each line is a record, or none.
pub trait Logs: Format {
    /// Does a line begin like a record?
    fn begins(&self, line: &[u8]) -> bool;

    /// The rows of whole lines, the last of which may lack its line feed.
    fn parse(&self, chunk: &[u8], crlf: bool, beside: &Beside) -> Rows;

    /// What spells its records again.
    fn speller(&self) -> Box<dyn Speller>;

    /// Do its lines say more than their graph, steps, environment and measurement?
    fn has_details(&self) -> bool {
        false
    }

    /// The name of the file beside a log that has the graphs of its records; `None` where the log itself has them.
    fn beside(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Whether lines name their graphs by their places in another file, so that they mean nothing without it.
    fn needs_graphs_beside(&self) -> bool {
        false
    }

    /// The text of such a file that only names graphs, these by their places, so that lines have them.
    fn graph_names(&self, graphs: &BTreeMap<i32, String>) -> Vec<u8> {
        let _ = graphs;
        Vec::new()
    }

    /// The names of the graphs in that file, by their lines, as far as it says them.
    fn graphs(&self, file: &mut dyn BufRead) -> io::Result<Vec<Option<String>>> {
        let _ = file;
        Ok(Vec::new())
    }

    /// How the names of its files end.
    fn ending(&self) -> &'static str;
}

/// A format of files, or folders of them, that are read as a whole.
pub trait Documents: Format {
    /// Do its files begin with these bytes?
    fn has_magic(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// Is this its text? It is asked where no line is a record.
    fn is_text(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }

    /// Does a file of this name in an archive say that the archive is of this format?
    fn is_member(&self, name: &str) -> bool {
        let _ = name;
        false
    }
}
