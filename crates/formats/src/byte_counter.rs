//! Counts how much of a file has been read, regardless of its decompressed size.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Counter of bytes read from disk, before decompression.
#[derive(Clone, Debug, Default)]
pub struct ByteCounter(Arc<OnceLock<AtomicU64>>);

impl ByteCounter {
    /// Returns the bytes read since the last call; `None` if no file was opened with this counter.
    #[must_use]
    pub fn take(&self) -> Option<u64> {
        self.0.get().map(|bytes| bytes.swap(0, Ordering::Relaxed))
    }

    /// Wraps a reader. Its bytes count unless they were reported before.
    pub(crate) fn wrap<R>(&self, input: R, counts: bool) -> CountedReader<R> {
        self.0.get_or_init(AtomicU64::default);
        CountedReader {
            input,
            counts,
            counter: self.clone(),
        }
    }
}

/// Reader whose bytes may count.
pub(crate) struct CountedReader<R> {
    input: R,
    counts: bool,
    counter: ByteCounter,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(bytes)?;
        if let Some(bytes_read) = self.counter.0.get().filter(|_| self.counts) {
            bytes_read.fetch_add(length as u64, Ordering::Relaxed);
        }
        Ok(length)
    }
}
