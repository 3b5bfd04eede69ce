//! Does a file begin with what the store has of it? Hashes of its beginnings say so.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use tsql_codecs::identity::ContentHasher;
use tsql_formats::{Opened, Passed};

/// Bytes that are read at once: they stay in the cache of a core until they are hashed.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Hashes of a file's beginnings.
#[derive(Debug)]
pub(super) struct Prefixes {
    /// Bytes of the file, after decompression.
    pub(super) size: u64,
    pub(super) whole: String,
    /// Offset -> hash up to there, and where the line begins that the byte before it is in.
    at: BTreeMap<u64, (String, u64)>,
}

impl Prefixes {
    pub(super) fn read(opened: &Opened, mut offsets: Vec<u64>) -> io::Result<Self> {
        let (mut reader, _) = opened.stream(&Passed::default())?;
        offsets.sort_unstable();
        offsets.dedup();
        let mut offsets = offsets.into_iter().peekable();
        let mut hasher = ContentHasher::new();
        let (mut size, mut line_start) = (0_u64, 0_u64);
        let mut at = BTreeMap::new();
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            while offsets.next_if_eq(&size).is_some() {
                at.insert(size, (hasher.hex(), line_start));
            }
            let wanted = offsets
                .peek()
                .map_or(buffer.len() as u64, |next| next - size);
            let wanted = usize::try_from(wanted)
                .unwrap_or(buffer.len())
                .min(buffer.len());
            let target = buffer.get_mut(..wanted).unwrap_or(&mut []);
            // A damaged compressed file ends here: what follows is no line that anyone has.
            let Ok(read) = reader.read(target) else { break };
            let new = target.get(..read).unwrap_or(&[]);
            if new.is_empty() {
                break;
            }
            hasher.update(new);
            if let Some(last) = memchr::memrchr(b'\n', new) {
                line_start = size + last as u64 + 1;
            }
            size += read as u64;
        }
        Ok(Self {
            size,
            whole: hasher.hex(),
            at,
        })
    }

    pub(super) fn hash_at(&self, offset: u64) -> Option<&String> {
        self.at.get(&offset).map(|(hash, _)| hash)
    }

    pub(super) fn line_start(&self, offset: u64) -> u64 {
        self.at.get(&offset).map_or(offset, |&(_, start)| start)
    }
}
