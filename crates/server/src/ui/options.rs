//! Options of the web interface.

use std::path::PathBuf;

use derive_setters::Setters;
use tsql_session::SessionOptions;

/// Maximum size of a result's rows on disk, in bytes; twice that during a sort.
const DEFAULT_ANSWER_BYTES: u64 = 2 << 30;

/// Options of the web interface.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
pub struct UiOptions {
    /// Sets the port on 127.0.0.1. Default: a free port.
    pub(super) port: u16,
    /// Sets the displayed name of the store.
    #[setters(into)]
    pub(super) name: String,
    /// Sets the limits of queries. The memory limit is shared by all running queries.
    pub(super) session: SessionOptions,
    /// Sets folders with user-defined queries: see [`tsql_session::user_queries`].
    #[setters(rename = "query_folders")]
    pub(super) question_folders: Vec<PathBuf>,
    /// Allows queries to read files of this machine and of the web (`FROM 'x.csv'`). Default: not allowed.
    pub(super) files: bool,
    /// Sets the maximum size of a result's rows on disk, in bytes. Default: 2 GiB. Further rows are left out, with a
    /// note on the page.
    pub(super) result_bytes: u64,
}

impl Default for UiOptions {
    fn default() -> Self {
        Self {
            port: 0,
            name: "store".to_owned(),
            session: SessionOptions::default(),
            question_folders: Vec::new(),
            files: false,
            result_bytes: DEFAULT_ANSWER_BYTES,
        }
    }
}
