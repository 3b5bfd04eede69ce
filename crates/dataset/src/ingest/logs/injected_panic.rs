//! A reader that panics, for tests of panic handling.

use std::sync::atomic::{AtomicBool, Ordering};

/// A line with this text panics.
pub(in crate::ingest) const MARKER: &[u8] = b"a line that the reader fails on";

/// Enables the panic.
pub(in crate::ingest) static IS_ENABLED: AtomicBool = AtomicBool::new(true);

pub(in crate::ingest) fn panic_on_marker(chunk: &[u8]) {
    let found = memchr::memmem::find(chunk, MARKER).is_some();
    assert!(!found || !IS_ENABLED.load(Ordering::Relaxed), "a test");
}
