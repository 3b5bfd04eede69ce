//! Context of a log: data that its lines reference and that is stored in a companion file.

use crate::folder::Folder;

/// Companion data of a log whose lines contain only graph numbers.
#[derive(Clone, Debug, Default)]
pub struct LogContext {
    /// Number of the source. It identifies the log.
    pub source_id: i64,
    /// Folder that contains the log.
    pub folder: Folder,
    /// Graphs of the companion file, if that file exists.
    pub graphs: Option<CompanionGraphs>,
}

/// Graphs of a companion file, one per line.
#[derive(Clone, Debug)]
pub struct CompanionGraphs {
    /// Name of the file.
    pub file: String,
    /// Graph names by line; `None` where a line has no name.
    pub names: Vec<Option<String>>,
}
