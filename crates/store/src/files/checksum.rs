//! Checksums of a data file, stored in the file. They let a reader of a range verify its bytes.
//!
//! ```text
//! PAR1 | row groups | pre-aggregates | checksums: 8 bytes for each block | page indexes, footer
//! └─ blocks of 64 KiB ──────────────┘ └─ end section ────────────────────────────────────────┘
//! ```
//!
//! A checksum is XXH3-64, little endian. Blocks restart at the pre-aggregates, so damage in rows and pre-aggregates is
//! reported separately. A tag of the file in the log holds the offset and the checksum of the end section, so every
//! byte that is read is verified. The checksums detect damage, not forgery. Other Parquet readers skip them. Files of
//! older versions have none until they are rewritten.

use std::collections::HashMap;
use std::ops::Range;

/// Name of the tag.
const TAG: &str = "tsql.checksums";

/// Block size in bytes. Reads are rounded out to blocks. Smaller blocks read less, but their checksums take more of the
/// file (0.012 % at this size).
const BLOCK_BYTES: u64 = 64 << 10;

/// Size of a checksum in bytes.
const BYTES: u64 = 8;

/// Location of the checksums of a file, and the checksum of the end section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksums {
    block_bytes: u64,
    /// Offset of the pre-aggregates.
    sums: u64,
    /// Offset of the checksums, which is also the start of the end section.
    begin: u64,
    /// Checksum of the end section.
    of_end: u64,
}

/// A section of a file that is verified as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileSection {
    /// The block of this number.
    Block(usize, Range<u64>),
    /// Everything after the blocks.
    End(Range<u64>),
}

/// Computes the checksum of `bytes`.
pub(crate) fn compute(bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(bytes)
}

impl Checksums {
    /// Creates the layout for a file. `sums`: offset after the rows. `begin`: offset after rows and pre-aggregates.
    pub(crate) fn new(sums: u64, begin: u64) -> Self {
        Self {
            block_bytes: BLOCK_BYTES,
            sums,
            begin,
            of_end: 0,
        }
    }

    /// Returns the size of the block checksums in bytes.
    pub(crate) fn len(&self) -> u64 {
        let blocks = |bytes: u64| bytes.div_ceil(self.block_bytes);
        (blocks(self.sums) + blocks(self.begin - self.sums)) * BYTES
    }

    /// Writes the checksums into the reserved range of the finished file. Returns `None` if there is no such range.
    pub(crate) fn fill(mut self, file: &mut [u8]) -> Option<Self> {
        let begin = usize::try_from(self.begin).ok()?;
        let (blocks, end) = file.split_at_mut_checked(begin)?;
        let (rows, sums) = blocks.split_at_checked(usize::try_from(self.sums).ok()?)?;
        let block_bytes = usize::try_from(self.block_bytes).ok()?;
        let blocks = rows.chunks(block_bytes).chain(sums.chunks(block_bytes));
        let places = end.chunks_exact_mut(8);
        for (block, place) in blocks.zip(places) {
            place.copy_from_slice(&compute(block).to_le_bytes());
        }
        self.of_end = compute(end);
        Some(self)
    }

    /// Returns the section that contains byte `at` of a file of this size.
    pub(crate) fn section(&self, at: u64, size: u64) -> FileSection {
        if at >= self.begin {
            return FileSection::End(self.begin..size);
        }
        let rows = self.sums.div_ceil(self.block_bytes);
        let (before, from, to) = if at < self.sums {
            (0, 0, self.sums)
        } else {
            (rows, self.sums, self.begin)
        };
        let number = (at - from) / self.block_bytes;
        let start = from + number * self.block_bytes;
        let number = usize::try_from(before + number).unwrap_or(usize::MAX);
        FileSection::Block(number, start..(start + self.block_bytes).min(to))
    }

    /// Returns the checksums of the blocks from the end section. `None` if the end section is damaged.
    pub(crate) fn block_checksums(&self, end: &[u8]) -> Option<Vec<u64>> {
        if compute(end) != self.of_end {
            return None;
        }
        let (checksums, _) = end.split_at_checked(usize::try_from(self.len()).ok()?)?;
        let (checksums, _) = checksums.as_chunks::<8>();
        Some(checksums.iter().copied().map(u64::from_le_bytes).collect())
    }

    /// Returns the tag with this layout and the checksum of the file's log entry.
    pub(crate) fn tag(&self, of_entry: u64) -> (String, Option<String>) {
        let Self {
            block_bytes,
            sums,
            begin,
            of_end,
        } = self;
        let text = format!("{block_bytes},{sums},{begin},{of_end:016x},{of_entry:016x}");
        (TAG.to_owned(), Some(text))
    }

    /// Parses the tags of a file of this size, as written by [`Checksums::tag`]. Returns an error for impossible
    /// values.
    pub(crate) fn from_tags(
        tags: &HashMap<String, Option<String>>,
        size: u64,
    ) -> Result<Option<(Self, u64)>, String> {
        let Some(text) = tags.get(TAG) else {
            return Ok(None);
        };
        let text = text.as_deref().unwrap_or_default();
        let parsed = Self::parse(text).filter(|(found, _)| {
            let ends = found.begin.checked_add(found.len());
            ends.is_some_and(|ends| ends <= size)
        });
        parsed
            .map(Some)
            .ok_or_else(|| format!("`{text}` names no checksums"))
    }

    fn parse(text: &str) -> Option<(Self, u64)> {
        let mut parts = text.split(',');
        let mut number = |radix| u64::from_str_radix(parts.next()?, radix).ok();
        let checksums = Self {
            block_bytes: number(10)?,
            sums: number(10)?,
            begin: number(10)?,
            of_end: number(16)?,
        };
        let of_entry = number(16)?;
        let fits = checksums.block_bytes > 0 && checksums.sums <= checksums.begin;
        (fits && parts.next().is_none()).then_some((checksums, of_entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this many bytes of rows, pre-aggregates and footer, and its checksums.
    fn file(rows: u64, sums: u64, footer: usize) -> (Vec<u8>, Checksums) {
        let checksums = Checksums::new(rows, rows + sums);
        let size = rows + sums + checksums.len();
        let mut bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        bytes.resize(bytes.len() + footer, 7);
        let checksums = checksums.fill(&mut bytes).unwrap();
        (bytes, checksums)
    }

    #[test]
    fn every_byte_is_in_a_part_that_is_compared() {
        for (rows, sums) in [(4, 0), (100_000, 5), (131_072, 70_000), (65_536, 65_536)] {
            let (bytes, checksums) = file(rows, sums, 30);
            let size = bytes.len() as u64;
            let begin = usize::try_from(rows + sums).unwrap();
            let of_blocks = checksums.block_checksums(&bytes[begin..]).unwrap();
            let (mut at, mut next) = (0, 0);
            while at < size {
                let range = match checksums.section(at, size) {
                    FileSection::Block(number, range) => {
                        assert_eq!(number, next);
                        let at = |place| usize::try_from(place).unwrap();
                        let block = &bytes[at(range.start)..at(range.end)];
                        assert_eq!(compute(block), of_blocks[number]);
                        next += 1;
                        range
                    }
                    FileSection::End(range) => range,
                };
                assert_eq!(range.start, at);
                assert_eq!(
                    checksums.section(range.end - 1, size),
                    checksums.section(at, size)
                );
                at = range.end;
            }
            assert_eq!((at, next), (size, of_blocks.len()));
            let mut damaged = bytes;
            damaged[begin + 3] ^= 1;
            assert_eq!(checksums.block_checksums(&damaged[begin..]), None);
        }
    }

    #[test]
    fn tags_are_complete_or_rejected() {
        let (bytes, checksums) = file(100_000, 9, 30);
        let size = bytes.len() as u64;
        let tags = |text: &str| HashMap::from([(TAG.to_owned(), Some(text.to_owned()))]);
        let named = HashMap::from([checksums.tag(0x5e)]);
        let found = Checksums::from_tags(&named, size);
        assert_eq!(found, Ok(Some((checksums, 0x5e))));
        assert_eq!(Checksums::from_tags(&HashMap::new(), size), Ok(None));
        assert!(Checksums::from_tags(&named, 100_000).is_err());
        for wrong in ["", "1,2,3,4", "0,1,1,0,0", "65536,9,4,0,0", "4,x,9,0,0"] {
            assert!(Checksums::from_tags(&tags(wrong), size).is_err(), "{wrong}");
        }
    }
}
