//! Output of a rebuilt file to several paths: its own and those of its copies.

use std::path::Path;

use tsql_adapters::formats::source::SourceFile;
use tsql_adapters::formats::{FileOutput, FileProof, Seekable};
use tsql_codecs::identity::ContentHasher;
use tsql_error::Result;

use super::target::{ExportOutcome, ExportTarget};

/// Counts and hashes the output, and writes it to several files. If one fails, the others continue.
pub(super) struct CopyWriter {
    targets: Vec<Result<ExportTarget>>,
    hasher: ContentHasher,
    bytes: u64,
}

/// Result of a source.
pub(super) struct ExportedSource {
    pub(super) bytes: u64,
    /// Reason why it differs from the ingested file.
    pub(super) damage: Option<String>,
    pub(super) outcome: ExportOutcome,
}

impl CopyWriter {
    pub(super) fn new(targets: impl Iterator<Item = Result<ExportTarget>>) -> Self {
        Self {
            targets: targets.collect(),
            hasher: ContentHasher::new(),
            bytes: 0,
        }
    }

    /// Renames the files to their paths. Returns the result of each of their sources.
    pub(super) fn finish(
        self,
        sources: &[&SourceFile],
        proof: &FileProof,
    ) -> Vec<Result<ExportedSource>> {
        let (bytes, hash) = (self.bytes, self.hasher.hex());
        let given = |(target, source): (Result<ExportTarget>, &&SourceFile)| {
            let target = target?;
            Ok(match proof {
                FileProof::Bytes => ExportedSource {
                    bytes,
                    damage: (hash != source.content_hash).then(|| {
                        format!(
                            "rebuilt {bytes} bytes with hash {hash}, expected {} bytes with hash {}",
                            source.end_byte(),
                            source.content_hash
                        )
                    }),
                    outcome: target.persist(&hash)?,
                },
                FileProof::Content(damage) => ExportedSource {
                    bytes: source.end_byte(),
                    damage: damage.clone(),
                    outcome: target.persist(&source.content_hash)?,
                },
            })
        };
        self.targets.into_iter().zip(sources).map(given).collect()
    }
}

impl FileOutput for CopyWriter {
    fn write(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        for slot in &mut self.targets {
            if let Ok(target) = slot
                && let Err(error) = target.write(bytes)
            {
                *slot = Err(error);
            }
        }
    }

    /// Returns the first file. Formats that seek have no copies.
    fn file(&mut self) -> Option<(&mut dyn Seekable, &Path)> {
        self.targets.first_mut()?.as_mut().ok()?.file()
    }
}
