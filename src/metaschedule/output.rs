//! A file that is being written, line by line.

use tsql_codecs::identity::ContentHasher;

use crate::error::Result;
use crate::export::target::{Outcome, Target};

/// A file of lines that is being written.
pub(super) struct Output {
    target: Target,
    hasher: ContentHasher,
    pub(super) lines: u64,
}

impl Output {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            hasher: ContentHasher::new(),
            lines: 0,
        }
    }

    pub(super) fn write_line(&mut self, line: &[u8]) -> Result<()> {
        for bytes in [line, b"\n"] {
            self.hasher.update(bytes);
            self.target.write(bytes)?;
        }
        self.lines += 1;
        Ok(())
    }

    /// Gives the file its name, unless another one exists.
    pub(super) fn keep(self) -> Result<Outcome> {
        let hash = self.hasher.hex();
        self.target.keep(&hash)
    }
}
