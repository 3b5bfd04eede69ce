#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]
#![expect(
    async_fn_in_trait,
    reason = "callers await the futures on their own thread"
)]

pub mod arrow_lines;
mod catch_panic;
pub mod dedupe;
pub mod formats;
pub mod ingest_log;

pub use catch_panic::catch_panic;
