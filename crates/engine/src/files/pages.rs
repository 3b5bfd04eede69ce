//! Validation of Parquet page headers before decompression.
//!
//! Readers allocate as many bytes as the header declares for the uncompressed page. Each declaration is therefore
//! compared with the compressed size.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;

/// Maximum ratio of the uncompressed to the compressed size of a page.
const MAX_INFLATION: u64 = 1 << 15;

/// Size that is always allowed for a page, in bytes.
const SMALL_BYTES: u64 = 1 << 20;

/// Maximum nesting depth of structures in a header.
const MAX_DEPTH: usize = 8;

/// Byte ranges of compressed pages in a file: end offsets by start offset.
#[derive(Debug, Default)]
pub(super) struct CompressedPages(BTreeMap<u64, u64>);

impl CompressedPages {
    /// Collects the page ranges of the metadata.
    pub(super) fn from_metadata(metadata: &ParquetMetaData) -> Self {
        let mut pages = BTreeMap::new();
        let offsets = metadata.offset_index();
        for (number, group) in metadata.row_groups().iter().enumerate() {
            for (place, column) in group.columns().iter().enumerate() {
                if column.compression() == Compression::UNCOMPRESSED {
                    continue;
                }
                let begins = [
                    Some(column.data_page_offset()),
                    column.dictionary_page_offset(),
                ];
                let begins = begins.into_iter().flatten();
                let begins = begins.filter_map(|begin| u64::try_from(begin).ok());
                let Some(begin) = begins.min() else { continue };
                let length = u64::try_from(column.compressed_size()).unwrap_or(u64::MAX);
                let end = begin.saturating_add(length);
                pages.insert(begin, end);
                let listed = offsets.and_then(|groups| groups.get(number)?.get(place));
                for page in listed
                    .into_iter()
                    .flat_map(|listed| listed.page_locations())
                {
                    if let Ok(begin) = u64::try_from(page.offset) {
                        pages.insert(begin, end);
                    }
                }
            }
        }
        Self(pages)
    }

    /// Checks the pages within a byte range of the file.
    ///
    /// # Errors
    /// If a page declares more bytes than its compressed form can contain.
    pub(super) fn check(&self, range: &Range<u64>, bytes: &Bytes) -> Result<()> {
        let mut checked = range.start;
        for (&begin, &end) in self.0.range(range.clone()) {
            if begin < checked {
                continue;
            }
            let last = end.min(range.end);
            let mut place = begin;
            while place < last {
                let part = |place: u64| usize::try_from(place - range.start).unwrap_or(usize::MAX);
                let rest = bytes.get(part(place)..part(last)).unwrap_or_default();
                // An unreadable header is left to the reader.
                let Some(header) = PageHeader::parse(rest) else {
                    break;
                };
                let most = header.packed.saturating_mul(MAX_INFLATION).max(SMALL_BYTES);
                if header.bytes > most {
                    return Err(ParquetError::General(format!(
                        "a page of {} bytes cannot expand to {} bytes",
                        header.packed, header.bytes
                    )));
                }
                place = place
                    .saturating_add(header.length)
                    .saturating_add(header.packed);
                checked = place;
            }
        }
        Ok(())
    }
}

/// Sizes in a page header, in bytes.
struct PageHeader {
    /// Size of the header itself.
    length: u64,
    packed: u64,
    bytes: u64,
}

impl PageHeader {
    /// Parses a `PageHeader` in Thrift's compact protocol: field 2 is the uncompressed size, field 3 the compressed
    /// size.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = ThriftInput { bytes, place: 0 };
        let (mut field, mut sizes) = (0_i64, [None, None]);
        loop {
            let head = input.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                break;
            }
            field = match head >> 4 {
                0 => input.read_zigzag()?,
                delta => field.checked_add(i64::from(delta))?,
            };
            match (field, kind) {
                (2, 5) => sizes[0] = Some(input.read_zigzag()?),
                (3, 5) => sizes[1] = Some(input.read_zigzag()?),
                _ => input.skip(kind, 0)?,
            }
        }
        let [bytes, packed] = sizes;
        Some(Self {
            length: input.place as u64,
            packed: u64::try_from(packed?).ok()?,
            // A negative size would be read as a very large one.
            bytes: u64::try_from(bytes?).unwrap_or(u64::MAX),
        })
    }
}

struct ThriftInput<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl ThriftInput<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.place).copied()?;
        self.place += 1;
        Some(byte)
    }

    fn read_varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a zigzag-encoded integer.
    fn read_zigzag(&mut self) -> Option<i64> {
        let number = self.read_varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn advance(&mut self, bytes: u64) -> Option<()> {
        let place = self.place.checked_add(usize::try_from(bytes).ok()?)?;
        self.place = place;
        (place <= self.bytes.len()).then_some(())
    }

    /// Skips a value.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            // A boolean is encoded in the field header.
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.read_varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.read_varint()?;
                self.advance(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.read_varint()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    match head & 0x0f {
                        1 | 2 => self.advance(1)?,
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
                Some(())
            }
            12 => loop {
                let head = self.byte()?;
                if head & 0x0f == 0 {
                    return Some(());
                }
                if head >> 4 == 0 {
                    self.read_zigzag()?;
                }
                self.skip(head & 0x0f, depth + 1)?;
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with these sizes, then a boolean, a string, a list and a struct.
    fn header(bytes: u8, packed: &[u8]) -> Vec<u8> {
        let mut header = vec![0x15, 0x00, 0x15, bytes, 0x15];
        header.extend(packed);
        header.extend([
            0x11, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x15, 6, 0, 0,
        ]);
        header
    }

    #[test]
    fn a_header_is_read_to_its_end() {
        let written = header(20, &[8]);
        let read = PageHeader::parse(&written).unwrap();
        assert_eq!(
            (read.length, read.bytes, read.packed),
            (written.len() as u64, 10, 4)
        );
        for end in 0..written.len() {
            assert!(PageHeader::parse(&written[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn an_oversized_page_is_rejected_at_any_position() {
        let mut bytes = header(20, &[8]);
        bytes.extend([0; 4]);
        let second = bytes.len() as u64;
        // 2^30 bytes.
        let mut large = header(0, &[8]);
        large.splice(3..4, [0x80, 0x80, 0x80, 0x80, 0x08]);
        bytes.extend(large);
        bytes.extend([0; 4]);
        let bytes = Bytes::from(bytes);
        let end = 100 + bytes.len() as u64;
        let check = |begin: u64, end_of_pages: u64, bytes: &Bytes| {
            let pages = CompressedPages(BTreeMap::from([(begin, end_of_pages)]));
            pages.check(&(100..100 + bytes.len() as u64), bytes)
        };
        assert!(check(100, end, &bytes).is_err());
        assert!(check(100 + second, end, &bytes).is_err());
        check(100, 100 + second, &bytes).unwrap();
        check(101, end, &Bytes::from(vec![0xff; 50])).unwrap();
        check(500, 600, &bytes).unwrap();
    }
}
