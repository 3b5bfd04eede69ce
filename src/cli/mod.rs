//! The command line: what was typed, and which of the library's calls it means.
//!
//! stdout is data, stderr is talk. Exit codes: 0 done, 1 the question failed, or something was refused or found
//! damaged, 2 not done (usage, store or files), 3 slower than `tsql compare` was told to allow, 130 interrupted.

mod append;
mod assignment;
mod bar;
mod batch;
mod check;
mod compare;
mod completions;
mod copy;
mod correct;
mod describe;
mod diff;
mod empty_result;
mod ending;
#[cfg(test)]
mod examples;
mod export;
mod functions;
mod history;
mod import;
mod ingest;
mod init;
mod known;
mod label;
mod man;
#[cfg(all(feature = "measure", target_os = "linux"))]
mod measure;
mod memory;
mod note;
mod optimize;
mod outcome;
mod output;
#[cfg(feature = "plot")]
mod page;
mod pager;
mod percent;
mod place;
#[cfg(feature = "plot")]
mod plot;
mod printer;
mod program;
mod publish;
mod queries;
mod questions;
mod report;
mod score;
mod screen;
#[cfg(feature = "cluster")]
mod security;
mod shell;
mod signals;
mod split;
mod sql;
mod stdout;
mod store;
mod subset;
mod tables;
mod tag;
mod talk;
mod told;
mod typed;
#[cfg(feature = "ui")]
mod ui;
mod vacuum;
mod verify;
mod watching;
#[cfg(feature = "cluster")]
mod worker;
#[cfg(feature = "cluster")]
mod workers;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::error::Error;
use outcome::{DONE, FAILED, Failure};
use printer::PrintError;
use signals::Stops;
use talk::talk;

/// Stack of the thread that plans: what walks an expression takes up to 10 kB for each operator.
const STACK_BYTES: usize = 64 << 20;

/// Stack of those that read and compute.
const WORKER_STACK_BYTES: usize = 8 << 20;

/// A columnar store and SQL engine for tensor-program performance data.
///
/// `tsql "SQL"` answers a query over the store of the working directory; `tsql --sample "SQL"` over a small
/// one that is built in.
#[derive(Parser, Debug)]
#[command(
    name = "tsql",
    version,
    after_help = "Examples:\n  \
        tsql ingest logs/a100 --platform a100\n  \
        tsql \"SELECT platform, count(*), min(runtime_ns) FROM records GROUP BY 1\"\n  \
        tsql                                    # the shell: type `.help` there\n  \
        tsql -f question.sql --format parquet -o answer.parquet\n  \
        tsql tables\n  \
        tsql export --to back/"
)]
struct Cli {
    #[command(flatten)]
    place: place::Place,
    /// How errors are told on standard error
    #[arg(long, global = true, value_enum, env = told::VARIABLE, hide_env_values = true, default_value_t, hide_default_value = true)]
    error_format: told::ErrorFormat,
    #[command(flatten)]
    query: sql::Query,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    Init(init::Init),
    Ingest(ingest::Ingest),
    Append(append::Append),
    Import(import::Import),
    Export(export::Export),
    Batch(batch::Batch),
    Score(score::Score),
    Report(report::Report),
    Subset(subset::Subset),
    Split(split::Split),
    Tables(tables::Tables),
    Describe(describe::Describe),
    Queries(queries::Queries),
    #[cfg(feature = "plot")]
    Plot(plot::Plot),
    #[cfg(feature = "plot")]
    Page(page::Page),
    #[cfg(feature = "ui")]
    Ui(ui::Ui),
    Functions(functions::Functions),
    History(history::History),
    Note(note::Note),
    Tag(tag::Tag),
    Diff(diff::Compared),
    Copy(copy::Copy),
    Correct(correct::Correct),
    Retract(correct::Retract),
    Restore(correct::Restore),
    Publish(publish::Publish),
    Verify(verify::Verify),
    Compare(compare::Compare),
    Optimize(optimize::Optimize),
    Vacuum(vacuum::Vacuum),
    Check(check::Check),
    Store(store::Store),
    Completions(completions::Completions),
    Man(man::Man),
    #[cfg(feature = "cluster")]
    Worker(worker::Worker),
    #[cfg(feature = "cluster")]
    Workers(workers::Workers),
    #[cfg(all(feature = "measure", target_os = "linux"))]
    Measure(measure::Measure),
}

impl Cli {
    /// Which signals the command ends by itself after, with what it has done so far in the store.
    fn stops_itself(&self) -> Stops {
        match &self.command {
            Some(Command::Ingest(_) | Command::Append(_)) => Stops::AtInterrupt,
            #[cfg(all(feature = "measure", target_os = "linux"))]
            Some(Command::Measure(_)) => Stops::AtInterrupt,
            #[cfg(feature = "cluster")]
            Some(Command::Worker(_)) => Stops::AtAny,
            #[cfg(feature = "ui")]
            Some(Command::Ui(_)) => Stops::AtAny,
            None if self.query.is_to_come() => Stops::AtPrompt,
            _ => Stops::Never,
        }
    }
}

pub use memory::size as size_bytes;

/// As [`run`], where the program that runs is the interpreter of another language: `own` is the command line that starts it
/// as the command, before any arguments.
#[must_use]
pub fn run_as(own: Vec<OsString>, args: Vec<OsString>) -> u8 {
    program::set(own);
    run(args)
}

/// Runs the command line `args`; returns the exit code.
#[must_use]
pub fn run(args: Vec<OsString>) -> u8 {
    if let Some(code) = completions::serve::<Cli>(&args) {
        return code;
    }
    #[cfg(all(feature = "measure", target_os = "linux"))]
    if let Some(code) = measure::serve(&args) {
        return code;
    }
    typed::know(Cli::command);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            told::tell_usage(&error, &args);
            return if error.use_stderr() { FAILED } else { DONE };
        }
    };
    let told = cli.error_format;
    let does = match cli.command {
        None | Some(Command::Queries(_)) => told::Does::Asks,
        #[cfg(feature = "plot")]
        Some(Command::Plot(_)) => told::Does::Asks,
        Some(Command::Report(_)) => told::Does::Reports,
        _ => told::Does::Else,
    };
    signals::tidy_up(cli.stops_itself());
    crate::store::tell_waiting(talk);
    let outcome = on_threads(cli);
    // What tasks hold that nobody waited for.
    tsql_folders::remove_all();
    match outcome {
        Ok(code) => code,
        Err(Failure::Print(PrintError::Io(error)))
            if error.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            DONE
        }
        Err(failure) => {
            told::tell(&failure, told);
            told::code(&failure, does)
        }
    }
}

/// Runs a command on threads with stack enough for the deepest SQL that is taken. What is not used of it
/// takes no memory.
fn on_threads(cli: Cli) -> Result<u8, Failure> {
    let failed = |source| Error::Io {
        path: "threads".into(),
        source,
    };
    if let Some(folder) = &cli.place.temp_dir {
        tsql_folders::use_temporary(folder.clone());
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = cli.place.threads {
        runtime.worker_threads(threads.get());
    }
    let runtime = runtime
        .thread_stack_size(WORKER_STACK_BYTES)
        .enable_all()
        .build()
        .map_err(failed)?;
    {
        let _entered = runtime.enter();
        signals::report_too_large_files();
    }
    let main = std::thread::Builder::new().stack_size(STACK_BYTES);
    let done = main.spawn(move || runtime.block_on(dispatch(cli)));
    match done.map_err(failed)?.join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

async fn dispatch(cli: Cli) -> Result<u8, Failure> {
    let place = &cli.place;
    let code = run_command(place, cli.command, cli.query).await;
    if place.stats {
        talk(&format!("requests: {}", crate::store::traffic()));
    }
    code.map_err(|failure| place.explained(failure))
}

async fn run_command(
    place: &place::Place,
    command: Option<Command>,
    query: sql::Query,
) -> Result<u8, Failure> {
    match command {
        None if query.is_to_come() => shell::run(place, query).await,
        None => sql::run(place, query).await,
        Some(Command::Init(command)) => init::run(place, command).await,
        Some(Command::Ingest(command)) => ingest::run(place, command).await,
        Some(Command::Append(command)) => append::run(place, command).await,
        Some(Command::Import(command)) => import::run(place, command).await,
        Some(Command::Export(command)) => export::run(place, command).await,
        Some(Command::Batch(command)) => batch::run(place, command).await,
        Some(Command::Score(command)) => score::run(place, command).await,
        Some(Command::Report(command)) => report::run(place, command).await,
        Some(Command::Subset(command)) => subset::run(place, command).await,
        Some(Command::Split(command)) => split::run(place, command).await,
        Some(Command::Tables(command)) => tables::run(place, command).await,
        Some(Command::Describe(command)) => describe::run(place, command).await,
        Some(Command::Queries(command)) => queries::run(place, command).await,
        #[cfg(feature = "plot")]
        Some(Command::Plot(command)) => plot::run(place, command).await,
        #[cfg(feature = "plot")]
        Some(Command::Page(command)) => page::run(place, command).await,
        #[cfg(feature = "ui")]
        Some(Command::Ui(command)) => ui::run(place, command).await,
        Some(Command::Functions(command)) => functions::run(command).await,
        Some(Command::History(command)) => history::run(place, command).await,
        Some(Command::Note(command)) => note::run(place, command).await,
        Some(Command::Tag(command)) => tag::run(place, command).await,
        Some(Command::Diff(command)) => diff::run(place, command).await,
        Some(Command::Copy(command)) => copy::run(place, command).await,
        Some(Command::Correct(command)) => correct::correct(place, command).await,
        Some(Command::Retract(command)) => correct::retract(place, command).await,
        Some(Command::Restore(command)) => correct::restore(place, command).await,
        Some(Command::Publish(command)) => publish::run(place, command).await,
        Some(Command::Verify(command)) => verify::run(command).await,
        Some(Command::Compare(command)) => compare::run(place, command).await,
        Some(Command::Optimize(command)) => optimize::run(place, command).await,
        Some(Command::Vacuum(command)) => vacuum::run(place, command).await,
        Some(Command::Check(command)) => check::run(place, command).await,
        Some(Command::Store(command)) => store::run(place, command).await,
        Some(Command::Completions(command)) => completions::run(&command, Cli::command()),
        Some(Command::Man(command)) => man::run(&command, Cli::command()),
        #[cfg(feature = "cluster")]
        Some(Command::Worker(command)) => worker::run(place, command).await,
        #[cfg(feature = "cluster")]
        Some(Command::Workers(command)) => workers::run(place, command).await,
        #[cfg(all(feature = "measure", target_os = "linux"))]
        Some(Command::Measure(command)) => measure::run(place, command).await,
    }
}
