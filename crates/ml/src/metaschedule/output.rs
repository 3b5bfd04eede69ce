//! Writes a file line by line.

use tsql_codecs::identity::ContentHasher;
use tsql_dataset::export::target::ExportTarget;
use tsql_error::Result;

pub(crate) use tsql_dataset::export::target::ExportOutcome;

/// Writer of a file of lines.
pub(super) struct Output {
    target: ExportTarget,
    hasher: ContentHasher,
    pub(super) lines: u64,
}

impl Output {
    pub(super) fn new(target: ExportTarget) -> Self {
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

    /// Publishes the file under its name, unless another file exists.
    pub(super) fn keep(self) -> Result<ExportOutcome> {
        let hash = self.hasher.hex();
        self.target.persist(&hash)
    }
}
