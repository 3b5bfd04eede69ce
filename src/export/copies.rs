//! A file that is rebuilt once, and written to its own place and those of its copies.

use std::path::Path;

use tsql_codecs::identity::ContentHasher;

use super::target::{Outcome, Target};
use crate::error::Result;
use crate::formats::source::SourceFile;
use crate::formats::{Out, Proof, Seekable};

/// Counts and hashes what is written to each of some files; one that fails does not end the others.
pub(super) struct Copies {
    targets: Vec<Result<Target>>,
    hasher: ContentHasher,
    bytes: u64,
}

/// What came of a source.
pub(super) struct Given {
    pub(super) bytes: u64,
    /// Why it is not what was ingested.
    pub(super) damage: Option<String>,
    pub(super) outcome: Outcome,
}

impl Copies {
    pub(super) fn new(targets: impl Iterator<Item = Result<Target>>) -> Self {
        Self {
            targets: targets.collect(),
            hasher: ContentHasher::new(),
            bytes: 0,
        }
    }

    /// Gives the files their names; what came of each of the sources that they are.
    pub(super) fn finish(self, sources: &[&SourceFile], proof: &Proof) -> Vec<Result<Given>> {
        let (bytes, hash) = (self.bytes, self.hasher.hex());
        let given = |(target, source): (Result<Target>, &&SourceFile)| {
            let target = target?;
            Ok(match proof {
                Proof::Bytes => Given {
                    bytes,
                    damage: (hash != source.content_hash).then(|| {
                        format!(
                            "rebuilt {bytes} bytes with hash {hash}, ingested were {} with {}",
                            source.end_byte(),
                            source.content_hash
                        )
                    }),
                    outcome: target.keep(&hash)?,
                },
                Proof::Content(damage) => Given {
                    bytes: source.end_byte(),
                    damage: damage.clone(),
                    outcome: target.keep(&source.content_hash)?,
                },
            })
        };
        self.targets.into_iter().zip(sources).map(given).collect()
    }
}

impl Out for Copies {
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

    /// That of the first: what is written so has no copies.
    fn file(&mut self) -> Option<(&mut dyn Seekable, &Path)> {
        self.targets.first_mut()?.as_mut().ok()?.file()
    }
}
