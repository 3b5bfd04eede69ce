//! `tsql worker`: serves stages of distributed queries, and shows the state of workers.

mod run;
mod status;

use clap::{Args, Subcommand};

use super::outcome::Failure;
use super::store_options::StoreOptions;

/// Serve parts of distributed queries, or show the state of workers
#[derive(Args, Debug)]
#[command(alias = "workers")]
pub(super) struct Worker {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Status(status::Status),
}

impl Worker {
    /// Returns whether the process serves until a signal ends it.
    pub(super) fn serves(&self) -> bool {
        matches!(self.command, Command::Run(_))
    }
}

pub(super) async fn run(place: &StoreOptions, command: Worker) -> Result<u8, Failure> {
    match command.command {
        Command::Run(command) => run::run(place, command).await,
        Command::Status(command) => status::run(place, command).await,
    }
}
