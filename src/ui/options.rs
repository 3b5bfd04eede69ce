//! How a page is served.

use std::path::PathBuf;

use crate::query::SessionOptions;

/// Bytes that the rows of an answer may take on the disk, twice that while they are sorted.
const ANSWER_BYTES: u64 = 2 << 30;

/// How a page is served.
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
            answer_bytes: ANSWER_BYTES,
        }
    }
}

impl UiOptions {
    /// The port on 127.0.0.1; a free one unless it is set.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// What the store is called on the page.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What questions may take. All that run have the memory together.
    #[must_use]
    pub fn session(mut self, session: SessionOptions) -> Self {
        self.session = session;
        self
    }

    /// Folders with questions of the user's own: see [`crate::query::own_questions`].
    #[must_use]
    pub fn question_folders(mut self, folders: Vec<PathBuf>) -> Self {
        self.question_folders = folders;
        self
    }

    /// May questions read files of this machine and of the web (`FROM 'x.csv'`)? They may not unless it is set.
    #[must_use]
    pub fn files(mut self, files: bool) -> Self {
        self.files = files;
        self
    }

    /// Bytes that the rows of an answer may take on the disk, 2 GiB unless it is set; what is more is left out, and the page
    /// says so.
    #[must_use]
    pub fn answer_bytes(mut self, bytes: u64) -> Self {
        self.answer_bytes = bytes;
        self
    }
}
