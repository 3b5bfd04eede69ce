//! Data files of which every byte that is read is compared with what was written ([`Checksums`]): the
//! layer between the storage and all who read them.
//!
//! A read is rounded out to blocks. The first one of a file brings its end too, where the checksums of the
//! blocks are; these stay in memory, the bytes do not.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result,
};
use roaring::RoaringBitmap;

use crate::files::checksum::{self, Checksums, Part};
use crate::files::data_file::DataFile;
use crate::settings::verify_settings::Verify;
use tsql_error::DamagedFile;

/// The files of a table that have checksums.
#[derive(Debug, Default)]
pub(crate) struct Files(HashMap<Path, File>);

/// What is known of a file.
#[derive(Debug)]
struct File {
    size: u64,
    checksums: Checksums,
    /// Those of its blocks, once its end was read.
    of_blocks: OnceLock<Vec<u64>>,
    /// Blocks that were compared, for [`Verify::Once`].
    compared: Mutex<RoaringBitmap>,
}

impl Files {
    /// Creates the set of `files`, which are objects of `table`.
    pub(crate) fn new<'a>(table: &str, files: impl IntoIterator<Item = &'a DataFile>) -> Self {
        let files = files.into_iter().filter_map(|file| {
            let known = File {
                size: file.size_bytes,
                checksums: file.checksums?,
                of_blocks: OnceLock::new(),
                compared: Mutex::default(),
            };
            Some((file.object(table).ok()?, known))
        });
        Self(files.collect())
    }

    /// Bytes from the checksums of a file on: all that there is to read before its rows.
    pub(crate) fn end_bytes(&self, location: &Path) -> Option<u64> {
        let end = self.0.get(location)?.end();
        Some(end.end - end.start)
    }

    /// The objects, of which these files are read with so much care.
    pub(crate) fn within(
        self: &Arc<Self>,
        objects: Arc<dyn ObjectStore>,
        verify: Verify,
    ) -> Arc<dyn ObjectStore> {
        if verify == Verify::Never || self.0.is_empty() {
            return objects;
        }
        Arc::new(Verified {
            objects,
            files: Arc::clone(self),
            once: verify == Verify::Once,
        })
    }
}

/// An object store that gives no bytes of a data file that are not those that were written.
#[derive(Debug)]
struct Verified {
    objects: Arc<dyn ObjectStore>,
    files: Arc<Files>,
    once: bool,
}

impl File {
    /// The range of all parts that `range` is in.
    fn rounded(&self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.min(self.size);
        if range.start >= end {
            return range.start..range.start;
        }
        let part = |at| match self.checksums.part(at, self.size) {
            Part::Block(_, range) | Part::End(range) => range,
        };
        part(range.start).start..part(end - 1).end
    }

    /// The end of the file, which has the checksums of its blocks.
    fn end(&self) -> Range<u64> {
        self.rounded(&(self.size.saturating_sub(1)..self.size))
    }

    /// Compares whole parts, of which the first begins at `start`; the range that is damaged, if any is.
    fn damage(&self, start: u64, bytes: &[u8], once: bool) -> Option<Range<u64>> {
        let end = self.end();
        let of_blocks = usize::try_from(end.start.saturating_sub(start)).unwrap_or(usize::MAX);
        let (mut blocks, tail) = bytes.split_at(of_blocks.min(bytes.len()));
        // The end goes first: it has the checksums of the blocks.
        if !tail.is_empty() {
            match self.checksums.of_blocks(tail) {
                Some(known) => _ = self.of_blocks.set(known),
                None => return Some(end),
            }
        }
        let mut at = start;
        while !blocks.is_empty() {
            let Part::Block(number, range) = self.checksums.part(at, self.size) else {
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

impl Verified {
    /// The ranges of a file, compared.
    async fn ranges(
        &self,
        file: &File,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let mut wanted: Vec<_> = ranges.iter().map(|range| file.rounded(range)).collect();
        if file.of_blocks.get().is_none() {
            wanted.push(file.end());
        }
        let merged = merged(wanted);
        let read = match self.objects.get_ranges(location, &merged).await {
            Ok(read) => read,
            Err(error) => return Err(self.cut(file, location, error).await),
        };
        // The last one first: it may have the checksums of the others.
        for (range, bytes) in merged.iter().zip(&read).rev() {
            let whole = bytes.len() as u64 == range.end - range.start;
            let damage = file.damage(range.start, bytes, self.once);
            let damage = damage.or_else(|| (!whole).then(|| range.clone()));
            if let Some(damage) = damage {
                return Err(damaged(location, &damage));
            }
        }
        Ok(ranges
            .iter()
            .map(|range| sliced(range, file.size, &merged, &read))
            .collect())
    }

    /// The error of a read, which is another one where the file is missing or has another size.
    async fn cut(&self, file: &File, location: &Path, error: Error) -> Error {
        match self.objects.head(location).await {
            Ok(found) if found.size != file.size => {
                let found = format!("{} bytes of {} are", found.size, file.size);
                generic(DamagedFile::new(location.as_ref(), found))
            }
            Err(Error::NotFound { .. }) => {
                generic(DamagedFile::new(location.as_ref(), "it is missing,"))
            }
            _ => error,
        }
    }
}

fn damaged(location: &Path, range: &Range<u64>) -> Error {
    let Range { start, end } = range;
    let found = format!("bytes {start} to {end} are");
    generic(DamagedFile::new(location.as_ref(), found))
}

fn generic(damage: DamagedFile) -> Error {
    Error::Generic {
        store: "tsql",
        source: Box::new(damage),
    }
}

/// The ranges in order, without gaps of nothing between them.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
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

/// The bytes of a range, as far as a file of this size has them.
fn sliced(range: &Range<u64>, size: u64, merged: &[Range<u64>], read: &[Bytes]) -> Bytes {
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

impl fmt::Display for Verified {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Verified({})", self.objects)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Verified {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.objects.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(location, options).await
    }

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
        let read = self.ranges(file, location, std::slice::from_ref(&range));
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
            Some(file) => self.ranges(file, location, ranges).await,
            None => self.objects.get_ranges(location, ranges).await,
        }
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}
