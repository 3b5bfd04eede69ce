//! What lines of a log refer to that stands in a file beside it.

use crate::folder::Folder;

/// Where the graphs of a log's records are, where its lines only say the numbers of these.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// What tells the log apart from all others: the number of its source.
    pub source_id: i64,
    /// The folder that the log lies in.
    pub folder: Folder,
    /// The graphs, where the file with them is there.
    pub graphs: Option<Graphs>,
}

/// The graphs of a file, a line for each.
#[derive(Clone, Debug)]
pub struct Graphs {
    /// The name of the file.
    pub file: String,
    /// Their names by their lines, as far as these say them.
    pub names: Vec<Option<String>>,
}
