//! A reader that panics, for tests of what becomes of that.

use std::sync::atomic::{AtomicBool, Ordering};

/// A line with this text panics.
pub(in crate::ingest) const TEXT: &[u8] = b"a line that the reader fails on";

/// It does so.
pub(in crate::ingest) static FAILS: AtomicBool = AtomicBool::new(true);

pub(in crate::ingest) fn look(chunk: &[u8]) {
    let found = memchr::memmem::find(chunk, TEXT).is_some();
    assert!(!found || !FAILS.load(Ordering::Relaxed), "a test");
}
