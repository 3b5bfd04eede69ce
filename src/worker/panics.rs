//! Panics in this process: none may end an answer early as if it were whole.
//!
//! The engine sends the rows of a task until the stream of each partition ends, and a panic ends one like any other
//! end. So each answer looks at its own end whether there was a panic since it began; whose it was does not
//! matter, nobody is to rely on that.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Counts panics from now on; they are told as before.
pub(super) fn count() {
    static COUNTING: Once = Once::new();
    COUNTING.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            COUNT.fetch_add(1, Ordering::SeqCst);
            before(panic);
        }));
    });
}

/// Panics so far.
pub(super) fn so_far() -> u64 {
    COUNT.load(Ordering::SeqCst)
}
