//! The `tsql` command.

use std::process::ExitCode;

/// Chunks of text and rows come and go by the megabyte; the system's allocator gives their pages
/// back each time, and a fifth of an ingest went into clearing them anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(tsql::cli::run(std::env::args_os().collect()))
}
