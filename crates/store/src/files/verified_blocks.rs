//! Object store layer that verifies every byte that is read from data files by [`Checksums`].
//!
//! Reads are rounded out to blocks. The first read of a file also fetches its end section with the checksums of the
//! blocks. The checksums stay in memory, the bytes do not.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use futures::StreamExt as _;
use object_store::path::Path;
use object_store::{
    Attributes, Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, Result,
};
use roaring::RoaringBitmap;

use crate::files::checksum::{self, Checksums, FileSection};
use crate::files::data_file::DataFile;
use crate::io::forward::forward_to;
use crate::settings::verify_settings::Verify;
use tsql_error::DamagedFile;

/// Files of a table that have checksums.
#[derive(Debug, Default)]
pub(crate) struct ChecksummedFiles(HashMap<Path, ChecksummedFile>);

/// State of a file.
#[derive(Debug)]
struct ChecksummedFile {
    size: u64,
    checksums: Checksums,
    /// Checksums of its blocks, after its end section was read.
    of_blocks: OnceLock<Vec<u64>>,
    /// Verified blocks, for [`Verify::Once`].
    compared: Mutex<RoaringBitmap>,
}

impl ChecksummedFiles {
    /// Creates the set of `files`, which are objects of `table`.
    pub(crate) fn new<'a>(table: &str, files: impl IntoIterator<Item = &'a DataFile>) -> Self {
        let files = files.into_iter().filter_map(|file| {
            let known = ChecksummedFile {
                size: file.size_bytes,
                checksums: file.checksums?,
                of_blocks: OnceLock::new(),
                compared: Mutex::default(),
            };
            Some((file.object_path(table).ok()?, known))
        });
        Self(files.collect())
    }

    /// Returns the size of the end section in bytes: all that must be read before the rows.
    pub(crate) fn end_bytes(&self, location: &Path) -> Option<u64> {
        let end = self.0.get(location)?.end_section();
        Some(end.end - end.start)
    }

    /// Wraps an object store so that reads of these files are verified.
    pub(crate) fn wrap(
        self: &Arc<Self>,
        objects: Arc<dyn ObjectStore>,
        verify: Verify,
    ) -> Arc<dyn ObjectStore> {
        if verify == Verify::Never || self.0.is_empty() {
            return objects;
        }
        Arc::new(VerifyingStore {
            objects,
            files: Arc::clone(self),
            once: verify == Verify::Once,
        })
    }
}

/// Object store that returns only verified bytes of data files.
#[derive(Debug)]
struct VerifyingStore {
    objects: Arc<dyn ObjectStore>,
    files: Arc<ChecksummedFiles>,
    once: bool,
}

impl ChecksummedFile {
    /// Returns the range of all sections that overlap `range`.
    fn round_to_sections(&self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.min(self.size);
        if range.start >= end {
            return range.start..range.start;
        }
        let part = |at| match self.checksums.section(at, self.size) {
            FileSection::Block(_, range) | FileSection::End(range) => range,
        };
        part(range.start).start..part(end - 1).end
    }

    /// Returns the range of the end section, which has the checksums of the blocks.
    fn end_section(&self) -> Range<u64> {
        self.round_to_sections(&(self.size.saturating_sub(1)..self.size))
    }

    /// Verifies whole sections, the first of which begins at `start`. Returns the damaged range, if any.
    fn find_damage(&self, start: u64, bytes: &[u8], once: bool) -> Option<Range<u64>> {
        let end = self.end_section();
        let of_blocks = usize::try_from(end.start.saturating_sub(start)).unwrap_or(usize::MAX);
        let (mut blocks, tail) = bytes.split_at(of_blocks.min(bytes.len()));
        // The end section goes first, because it has the checksums of the blocks.
        if !tail.is_empty() {
            match self.checksums.block_checksums(tail) {
                Some(known) => _ = self.of_blocks.set(known),
                None => return Some(end),
            }
        }
        let mut at = start;
        while !blocks.is_empty() {
            let FileSection::Block(number, range) = self.checksums.section(at, self.size) else {
                return Some(end);
            };
            let length = usize::try_from(range.end - at).unwrap_or(usize::MAX);
            match blocks.split_at_checked(length) {
                Some((block, others)) if self.is_block(number, block, once) => blocks = others,
                _ => return Some(range),
            }
            at = range.end;
        }
        None
    }

    fn is_block(&self, number: usize, bytes: &[u8], once: bool) -> bool {
        let place = u32::try_from(number).unwrap_or(u32::MAX);
        let compared = || self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        if once && compared().contains(place) {
            return true;
        }
        let known = self.of_blocks.get().and_then(|known| known.get(number));
        let sound = known == Some(&checksum::compute(bytes));
        if once && sound {
            compared().insert(place);
        }
        sound
    }
}

impl VerifyingStore {
    /// Reads and verifies ranges of a file.
    async fn read_ranges(
        &self,
        file: &ChecksummedFile,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let mut wanted: Vec<_> = ranges
            .iter()
            .map(|range| file.round_to_sections(range))
            .collect();
        if file.of_blocks.get().is_none() {
            wanted.push(file.end_section());
        }
        let merged = merge_ranges(wanted);
        let read = match self.objects.get_ranges(location, &merged).await {
            Ok(read) => read,
            Err(error) => return Err(self.explain_read_error(file, location, error).await),
        };
        // In reverse order: the last one may have the checksums of the others.
        for (range, bytes) in merged.iter().zip(&read).rev() {
            let whole = bytes.len() as u64 == range.end - range.start;
            let damage = file.find_damage(range.start, bytes, self.once);
            let damage = damage.or_else(|| (!whole).then(|| range.clone()));
            if let Some(damage) = damage {
                return Err(damage_error(location, &damage));
            }
        }
        Ok(ranges
            .iter()
            .map(|range| slice_range(range, file.size, &merged, &read))
            .collect())
    }

    /// Replaces the error of a read if the file is missing or has another size.
    async fn explain_read_error(
        &self,
        file: &ChecksummedFile,
        location: &Path,
        error: Error,
    ) -> Error {
        match self.objects.head(location).await {
            Ok(found) if found.size != file.size => {
                let found = format!("{} bytes of {} are", found.size, file.size);
                generic_error(DamagedFile::new(location.as_ref(), found))
            }
            Err(Error::NotFound { .. }) => {
                generic_error(DamagedFile::new(location.as_ref(), "it is missing,"))
            }
            _ => error,
        }
    }
}

fn damage_error(location: &Path, range: &Range<u64>) -> Error {
    let Range { start, end } = range;
    let found = format!("bytes {start} to {end} are");
    generic_error(DamagedFile::new(location.as_ref(), found))
}

fn generic_error(damage: DamagedFile) -> Error {
    Error::Generic {
        store: "tsql",
        source: Box::new(damage),
    }
}

/// Sorts ranges, and merges adjacent and overlapping ones.
fn merge_ranges(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the bytes of a range, up to the end of a file of this size.
fn slice_range(range: &Range<u64>, size: u64, merged: &[Range<u64>], read: &[Bytes]) -> Bytes {
    let after = merged.partition_point(|whole| whole.start <= range.start);
    let place = after.saturating_sub(1);
    let (Some(whole), Some(bytes)) = (merged.get(place), read.get(place)) else {
        return Bytes::new();
    };
    let at = |place: u64| {
        let place = place.saturating_sub(whole.start);
        usize::try_from(place).map_or(bytes.len(), |place| place.min(bytes.len()))
    };
    bytes.slice(at(range.start)..at(range.end.min(size)))
}

impl fmt::Display for VerifyingStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Verified({})", self.objects)
    }
}

#[async_trait::async_trait]
impl ObjectStore for VerifyingStore {
    forward_to!(
        objects: put_opts, put_multipart_opts, delete_stream, list, list_with_delimiter, copy_opts
    );

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(file) = self.files.0.get(location).filter(|_| !options.head) else {
            return self.objects.get_opts(location, options).await;
        };
        let range = match options.range {
            None => 0..file.size,
            Some(GetRange::Bounded(range)) => range,
            Some(GetRange::Offset(start)) => start..file.size,
            Some(GetRange::Suffix(length)) => file.size.saturating_sub(length)..file.size,
        };
        let read = self.read_ranges(file, location, std::slice::from_ref(&range));
        let read = read.await?.into_iter().map(Ok);
        Ok(GetResult {
            payload: GetResultPayload::Stream(
                futures::stream::iter(read.collect::<Vec<_>>()).boxed(),
            ),
            meta: ObjectMeta {
                location: location.clone(),
                last_modified: chrono::DateTime::UNIX_EPOCH,
                size: file.size,
                e_tag: None,
                version: None,
            },
            range: range.start..range.end.min(file.size),
            attributes: Attributes::default(),
        })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.files.0.get(location) {
            Some(file) => self.read_ranges(file, location, ranges).await,
            None => self.objects.get_ranges(location, ranges).await,
        }
    }
}
