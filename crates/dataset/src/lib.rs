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

pub mod auto_scheduler;
pub mod check;
pub mod copy;
pub mod corrections;
pub mod demo;
pub mod diff;
pub mod export;
pub mod ingest;
mod label_setters;
pub mod line_selection;
pub mod notes;
pub mod optimize;
#[doc(hidden)]
pub mod optional_setting;
pub mod platforms;
#[cfg(all(feature = "measure", target_os = "linux"))]
pub mod trials;
pub mod upkeep;
