//! How much of a file has been read, whatever its bytes become on the way.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of a file that were read since somebody asked: those on the disk, before they are decompressed.
#[derive(Clone, Debug, Default)]
pub struct Passed(Arc<OnceLock<AtomicU64>>);

impl Passed {
    /// Bytes that were read since it was asked before; `None` where no file was opened with it.
    #[must_use]
    pub fn take(&self) -> Option<u64> {
        self.0.get().map(|bytes| bytes.swap(0, Ordering::Relaxed))
    }

    /// The same reader, whose bytes count, unless they were told before.
    pub(crate) fn of<R>(&self, input: R, counts: bool) -> Counted<R> {
        self.0.get_or_init(AtomicU64::default);
        Counted {
            input,
            counts,
            passed: self.clone(),
        }
    }
}

/// A reader whose bytes may count.
pub(crate) struct Counted<R> {
    input: R,
    counts: bool,
    passed: Passed,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        if let Some(passed) = self.passed.0.get().filter(|_| self.counts) {
            passed.fetch_add(read as u64, Ordering::Relaxed);
        }
        Ok(read)
    }
}
