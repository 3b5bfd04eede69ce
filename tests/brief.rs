//! Integration tests: the command as people use it, and the library where that is shorter.
//!
//! One binary, because each one links all of DataFusion.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says why it was skipped"
)]

#[path = "main/support.rs"]
mod support;

#[path = "main/golden.rs"]
mod golden;
