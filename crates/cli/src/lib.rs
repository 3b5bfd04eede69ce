//! The command line: parses arguments and calls the library.
//!
//! Results go to standard output, messages to standard error. Exit codes: 0 done; 1 the query failed, or input was
//! rejected, or damage was found; 2 not done (usage, store or files); 3 slower than `tsql compare` allows; 130
//! interrupted.

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

mod append;
mod applicability;
mod assignment;
mod batch;
mod built_in_queries;
mod check;
mod command_suggestions;
mod compare;
mod completion_values;
mod completions;
mod copy;
mod correct;
mod deletion;
mod describe;
mod diff;
mod empty_result;
mod error_output;
#[cfg(test)]
mod examples;
mod export;
mod file_extension;
mod functions;
#[cfg(test)]
mod help_words;
mod history;
#[cfg(feature = "plot")]
mod html_report;
mod import;
mod ingest;
mod init;
mod label;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(feature = "measure", target_os = "linux"))]
mod measure;
mod memory;
mod note;
mod optimize;
mod outcome;
mod output;
mod overview;
mod pager;
mod percent;
mod platform;
#[cfg(feature = "plot")]
mod plot;
mod printer;
mod program;
mod progress;
mod progress_bar;
mod publish;
mod queries;
mod renames;
mod replay;
mod report;
mod result_content;
mod score;
mod screen;
#[cfg(feature = "cluster")]
mod security;
#[cfg(feature = "flight")]
mod serve;
mod shell;
mod short_values;
mod signals;
mod split;
mod sql;
mod stderr;
mod stdout;
mod store;
mod store_options;
mod subset;
mod tables;
mod tag;
mod trend;
#[cfg(feature = "ui")]
mod ui;
mod vacuum;
mod verify;
#[cfg(feature = "cluster")]
mod worker;

use std::ffi::OsString;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use tsql_error::Error;

use outcome::{DONE, FAILED, Failure};
use printer::PrintError;
use signals::Stops;
use stderr::{print_error, print_message};

/// Stack of the thread that plans: functions that walk an expression need up to 10 kB for each operator.
const STACK_BYTES: usize = 64 << 20;

/// Stack of the threads that read and compute.
const WORKER_STACK_BYTES: usize = 8 << 20;

/// A columnar store and SQL engine for tensor-program performance data.
///
/// `tsql "SQL"` runs a query over the store of the working directory, `tsql --sample "SQL"` over a small built-in one.
#[derive(Parser, Debug)]
#[command(
    name = "tsql",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  \
        tsql ingest logs/a100 --platform a100\n  \
        tsql \"SELECT platform, count(*), min(runtime_ns) FROM records GROUP BY 1\"\n  \
        tsql --sample queries                   # built-in queries, over built-in data\n  \
        tsql                                    # the shell: type `.help` there\n  \
        tsql -f query.sql -o result.parquet\n\n\
        `tsql help COMMAND` explains a command. Documentation: the folder docs, from docs/index.md"
)]
struct Cli {
    #[command(flatten)]
    query: sql::Query,
    #[command(flatten)]
    place: store_options::StoreOptions,
    #[command(flatten)]
    messages: Messages,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Selection and format of messages.
#[derive(Args, Debug)]
#[command(next_help_heading = "Messages")]
struct Messages {
    /// Print errors and warnings only: no progress, notes, reports or hints
    #[arg(short, long, global = true)]
    quiet: bool,
    /// List all skipped files
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// When output is colored
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_default_value = true
    )]
    color: stderr::Color,
    /// Format of errors on standard error
    #[arg(long, global = true, value_enum, value_name = "FORMAT", env = error_output::VARIABLE, hide_env_values = true, default_value_t, hide_default_value = true)]
    error_format: error_output::ErrorFormat,
}

#[derive(Subcommand, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a process parses one command; without some features the sizes are close"
)]
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
    #[cfg(feature = "ui")]
    Ui(ui::Ui),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Mcp),
    #[cfg(feature = "flight")]
    Serve(serve::Serve),
    Functions(functions::Functions),
    History(history::History),
    Note(note::Note),
    Platform(platform::Platform),
    Tag(tag::Tag),
    Diff(diff::Compared),
    Copy(copy::Copy),
    Correct(correct::Correct),
    Retract(correct::Retract),
    Restore(correct::Restore),
    Publish(publish::Publish),
    Verify(verify::Verify),
    Compare(compare::Compare),
    Trend(trend::TrendArgs),
    Replay(replay::ReplayArgs),
    Optimize(optimize::Optimize),
    Vacuum(vacuum::Vacuum),
    Check(check::Check),
    Store(store::Store),
    Completions(completions::Completions),
    Man(man::Man),
    #[cfg(feature = "cluster")]
    Worker(worker::Worker),
    #[cfg(all(feature = "measure", target_os = "linux"))]
    Measure(measure::Measure),
    #[cfg(all(feature = "measure", target_os = "linux"))]
    Gate(measure::Gate),
}

impl Cli {
    /// Returns the signals that the command handles itself: it ends with its work so far in the store.
    fn stops_itself(&self) -> Stops {
        match &self.command {
            Some(Command::Ingest(_) | Command::Append(_)) => Stops::AtInterrupt,
            #[cfg(all(feature = "measure", target_os = "linux"))]
            Some(Command::Measure(_)) => Stops::AtInterrupt,
            #[cfg(feature = "cluster")]
            Some(Command::Worker(worker)) if worker.serves() => Stops::AtAny,
            #[cfg(feature = "ui")]
            Some(Command::Ui(_)) => Stops::AtAny,
            #[cfg(feature = "flight")]
            Some(Command::Serve(_)) => Stops::AtAny,
            None if self.query.is_to_come() => Stops::AtPrompt,
            _ => Stops::Never,
        }
    }
}

pub use memory::size as size_bytes;

/// Runs a command line as [`run`] does, inside the interpreter of another language. `own` is the command line that
/// starts the command, without arguments.
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
    command_suggestions::set_commands(Cli::command);
    let args = renames::modernize(&Cli::command(), args);
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) if overview::is_meant(&Cli::command(), &error, &args) => {
            overview::print(Cli::command());
            return DONE;
        }
        Err(error) => {
            error_output::print_usage_error(&error, &args);
            return if error.use_stderr() { FAILED } else { DONE };
        }
    };
    let error_format = cli.messages.error_format;
    stderr::configure(cli.messages.quiet, cli.messages.color);
    let kind = match cli.command {
        None | Some(Command::Queries(_)) => error_output::CommandKind::Asks,
        #[cfg(feature = "plot")]
        Some(Command::Plot(_)) => error_output::CommandKind::Asks,
        Some(Command::Report(_)) => error_output::CommandKind::Reports,
        _ => error_output::CommandKind::Else,
    };
    signals::tidy_up(cli.stops_itself());
    tsql_store::set_retry_reporter(print_error);
    let outcome = on_threads(cli);
    // Tasks that were not awaited may still hold temporary folders.
    tsql_folders::remove_all();
    match outcome {
        Ok(code) => code,
        Err(Failure::Print(PrintError::Io(error)))
            if error.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            DONE
        }
        Err(failure) => {
            error_output::print_failure(&failure, error_format);
            error_output::exit_code(&failure, kind)
        }
    }
}

/// Parses a command line, and rejects options that the command does not use.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(args)?;
    applicability::check(&mut command, &matches)?;
    Cli::from_arg_matches(&matches)
}

/// Runs a command on threads whose stacks suffice for the deepest SQL that is accepted. Unused stack takes no memory.
fn on_threads(cli: Cli) -> Result<u8, Failure> {
    let failed = |source| Error::Io {
        path: "threads".into(),
        source,
    };
    if let Some(folder) = &cli.place.temp_dir {
        tsql_folders::set_temporary_folder(folder.clone());
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
    let code = run_command(place, &cli.messages, cli.command, cli.query).await;
    if place.stats {
        print_message(&format!("requests: {}", tsql_store::traffic()));
    }
    code.map_err(|failure| place.explain(failure))
}

async fn run_command(
    place: &store_options::StoreOptions,
    messages: &Messages,
    command: Option<Command>,
    query: sql::Query,
) -> Result<u8, Failure> {
    match command {
        None if query.is_to_come() => shell::run(place, query).await,
        None => sql::run(place, query).await,
        Some(Command::Init(command)) => init::run(place, command).await,
        Some(Command::Ingest(command)) => ingest::run(place, command, messages.verbose).await,
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
        #[cfg(feature = "ui")]
        Some(Command::Ui(command)) => ui::run(place, command).await,
        #[cfg(feature = "mcp")]
        Some(Command::Mcp(command)) => mcp::run(place, command).await,
        #[cfg(feature = "flight")]
        Some(Command::Serve(command)) => serve::run(place, command).await,
        Some(Command::Functions(command)) => functions::run(command).await,
        Some(Command::History(command)) => history::run(place, command).await,
        Some(Command::Note(command)) => note::run(place, command).await,
        Some(Command::Platform(command)) => platform::run(place, command).await,
        Some(Command::Tag(command)) => tag::run(place, command).await,
        Some(Command::Diff(command)) => diff::run(place, command).await,
        Some(Command::Copy(command)) => copy::run(place, command).await,
        Some(Command::Correct(command)) => correct::run_correct(place, command).await,
        Some(Command::Retract(command)) => correct::run_retract(place, command).await,
        Some(Command::Restore(command)) => correct::run_restore(place, command).await,
        Some(Command::Publish(command)) => publish::run(place, command).await,
        Some(Command::Verify(command)) => verify::run(command).await,
        Some(Command::Compare(command)) => compare::run(place, command).await,
        Some(Command::Trend(command)) => trend::run(place, command).await,
        Some(Command::Replay(command)) => replay::run(place, command).await,
        Some(Command::Optimize(command)) => optimize::run(place, command).await,
        Some(Command::Vacuum(command)) => vacuum::run(place, command).await,
        Some(Command::Check(command)) => check::run(place, command).await,
        Some(Command::Store(command)) => store::run(place, command).await,
        Some(Command::Completions(command)) => completions::run(&command, Cli::command()),
        Some(Command::Man(command)) => man::run(&command, Cli::command()),
        #[cfg(feature = "cluster")]
        Some(Command::Worker(command)) => worker::run(place, command).await,
        #[cfg(all(feature = "measure", target_os = "linux"))]
        Some(Command::Measure(command)) => measure::run(place, command).await,
        #[cfg(all(feature = "measure", target_os = "linux"))]
        Some(Command::Gate(command)) => measure::run_gate(place, command).await,
    }
}
