//! `tsql measure`: times kernels on this machine, and appends the timings as records.

mod bench;
mod change_table;
mod doctor;
mod exec;
mod pair;
mod repeat;
mod resume;
mod run;
mod run_events;
mod template;
mod trust;

use std::ffi::OsString;

use clap::{Args, Subcommand};
use tsql_measure::device::ServeResult;
use tsql_measure::{backends, compiler_sandbox};

use super::outcome::{DONE, FAILED, Failure};
use super::signals::stop_on_ctrl_c;
use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Time kernels on this machine and store the timings
///
/// The system's compiler builds kernels in C and C++, which run in a separate process; NVRTC builds CUDA kernels.
/// Each record is on the local disk before the next kernel is timed. Kernels and compilers run in a sandbox: their own
/// folder and the installed system. Programs from a store are built again only with consent (`repeat --trust`).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure run matmul --trials 200\n  \
    tsql measure run kernel.toml --search grid --skip-existing\n  \
    tsql measure exec --platform a100 -- python3 tune.py\n  \
    tsql measure pair --platform a100 ./old/bench ./new/bench\n  \
    tsql measure repeat --where \"error_no = 0 AND platform = 'epyc-7452'\" \\\n      \
    --limit 20\n  \
    tsql measure doctor")]
pub(super) struct Measure {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Exec(exec::Exec),
    Pair(pair::Pair),
    Repeat(repeat::Repeat),
    Template(template::Template),
    Doctor(doctor::Doctor),
    Env(doctor::Env),
    Devices(doctor::Devices),
    Resume(resume::Resume),
}

pub(super) use pair::Gate;

pub(super) async fn run_gate(place: &StoreOptions, command: Gate) -> Result<u8, Failure> {
    let store = place.open_or_create().await?;
    pair::run_gate(&store, command, &stop_on_ctrl_c()).await
}

/// Runs as a process that builds or times kernels, if the arguments request one. Returns its exit code then.
pub(super) fn serve(args: &[OsString]) -> Option<u8> {
    let (_, args) = args.split_first()?;
    let (code, error) = match backends::serve_process(args)? {
        ServeResult::Done => return Some(DONE),
        ServeResult::Failed(error) => (FAILED, error),
        ServeResult::NotStarted(error) => (compiler_sandbox::NOT_STARTED, error),
    };
    print_message(&format!("error: {error}"));
    Some(code)
}

pub(super) async fn run(place: &StoreOptions, command: Measure) -> Result<u8, Failure> {
    match command.command {
        Command::Template(command) => return Ok(template::run(command)?),
        Command::Doctor(command) => return doctor::doctor(command),
        Command::Env(command) => return doctor::env(command),
        Command::Devices(command) => return doctor::devices(command),
        Command::Run(ref command) if command.dry_run => return run::dry_run(command),
        _ => {}
    }
    // The manifest comes first, so that an unreadable one creates no store.
    let loaded = match &command.command {
        Command::Run(command) => Some(command.load()?),
        _ => None,
    };
    let store = place.open_or_create().await?;
    let stop = stop_on_ctrl_c();
    compiler_sandbox::hide_process();
    match (command.command, loaded) {
        (Command::Run(command), Some(loaded)) => run::run(&store, &command, loaded, &stop).await,
        (Command::Exec(command), _) => exec::run(&store, command, &stop).await,
        (Command::Pair(command), _) => pair::run(&store, command, &stop).await,
        (Command::Repeat(command), _) => repeat::run(&store, &command, &stop).await,
        _ => resume::run(&store).await,
    }
}
