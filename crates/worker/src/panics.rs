//! Counts panics of this process, so that no result ends early as if it were complete.
//!
//! The engine sends the rows of a task until the stream of each partition ends, and a panic ends a stream like
//! any other end. So each response checks at its end whether there was a panic since it began. A panic of
//! another query also fails it.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static PANIC_COUNT: AtomicU64 = AtomicU64::new(0);

/// Installs a panic hook that counts panics and then calls the previous hook.
pub(super) fn install_counting_hook() {
    static COUNTING: Once = Once::new();
    COUNTING.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANIC_COUNT.fetch_add(1, Ordering::SeqCst);
            before(panic);
        }));
    });
}

/// Number of panics so far.
pub(super) fn panic_count() -> u64 {
    PANIC_COUNT.load(Ordering::SeqCst)
}
