//! Prefix hashes of a file. They show whether it starts with the stored part.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use tsql_codecs::identity::ContentHasher;
use tsql_formats::{ByteCounter, FileHandle};

/// Bytes per read. They stay in the cache of a core until they are hashed.
pub const PIECE_BYTES: usize = 64 << 10;

/// Prefix hashes of a file.
#[derive(Debug)]
pub(super) struct Prefixes {
    /// Size of the file in bytes, after decompression.
    pub(super) size: u64,
    pub(super) whole: String,
    /// Hash up to an offset, and the start of the line that contains the byte before it.
    at: BTreeMap<u64, (String, u64)>,
}

impl Prefixes {
    pub(super) fn read(opened: &FileHandle, mut offsets: Vec<u64>) -> io::Result<Self> {
        let (mut reader, _) = opened.stream(&ByteCounter::default())?;
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
            // A damaged compressed file ends here. Nothing after this point was ever ingested.
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
