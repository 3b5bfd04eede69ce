//! The `tsql` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tsql::cli::run(std::env::args_os()))
}
