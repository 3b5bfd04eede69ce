//! Options of the web interface.

use std::path::PathBuf;

use crate::query::SessionOptions;

/// Maximum size of a result's rows on disk, in bytes; twice that during a sort.
const DEFAULT_ANSWER_BYTES: u64 = 2 << 30;

/// Options of the web interface.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UiOptions {
    pub(super) port: u16,
    pub(super) name: String,
    pub(super) session: SessionOptions,
    pub(super) question_folders: Vec<PathBuf>,
    pub(super) files: bool,
    pub(super) answer_bytes: u64,
}

impl Default for UiOptions {
    fn default() -> Self {
        Self {
            port: 0,
            name: "store".to_owned(),
            session: SessionOptions::default(),
            question_folders: Vec::new(),
            files: false,
            answer_bytes: DEFAULT_ANSWER_BYTES,
        }
    }
}

impl UiOptions {
    /// Sets the port on 127.0.0.1. Default: a free port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets the displayed name of the store.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the limits of queries. The memory limit is shared by all running queries.
    #[must_use]
    pub fn session(mut self, session: SessionOptions) -> Self {
        self.session = session;
        self
    }

    /// Sets folders with user-defined queries: see [`crate::query::user_queries`].
    #[must_use]
    pub fn query_folders(mut self, folders: Vec<PathBuf>) -> Self {
        self.question_folders = folders;
        self
    }

    /// Allows queries to read files of this machine and of the web (`FROM 'x.csv'`). Default: not allowed.
    #[must_use]
    pub fn files(mut self, files: bool) -> Self {
        self.files = files;
        self
    }

    /// Sets the maximum size of a result's rows on disk, in bytes. Default: 2 GiB. Further rows are left out, with a
    /// note on the page.
    #[must_use]
    pub fn result_bytes(mut self, bytes: u64) -> Self {
        self.answer_bytes = bytes;
        self
    }
}
