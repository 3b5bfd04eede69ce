//! `tsql measure`: timings that are made here, appended like any other record.

mod compared;
mod doctor;
mod exec;
mod repeat;
mod run;
mod template;
mod trust;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use tokio::runtime::Handle;
use tsql_measure::trial::Cache;
use tsql_measure::{confined, cuda, worker};

use super::ingest::stop_on_ctrl_c;
use super::place::Place;
use super::{DONE, FAILED, Failure, PARTLY, counted, talk};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::trials::bench::{self, Target};
use crate::trials::run::RunOptions;
use crate::trials::{Loaded, sink};

/// Time kernels on this machine and store the timings
///
/// Kernels in C and C++ are built by the system's compiler and called in a process of their own; those in
/// CUDA by NVRTC. Every record is on the local disk before the next kernel is timed. Kernels and compilers
/// are confined to a folder of their own and to what the system has installed; programs of a store are built
/// again only where you say so (`repeat --trust`).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure run matmul --trials 200\n  \
    tsql measure run kernel.toml --search grid --skip-existing\n  \
    tsql measure exec --platform a100 -- python3 tune.py\n  \
    tsql measure repeat --where \"error_no = 0 AND platform = 'epyc-7452'\" --limit 20\n  \
    tsql measure doctor")]
pub(super) struct Measure {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Exec(exec::Exec),
    Repeat(repeat::Repeat),
    Template(template::Template),
    Doctor(doctor::Doctor),
    Env(doctor::Env),
    Devices(doctor::Devices),
    Resume(Resume),
}

/// Store what runs that were killed have measured
///
/// A run keeps its timings in a journal on the local disk until they are in the store. `measure run`
/// stores what earlier runs on the same store have left, too.
#[derive(Args, Debug)]
struct Resume {}

/// Runs as one of the processes that kernels are built and timed in, where that is asked; the exit
/// code then.
pub(super) fn serve(args: &[OsString]) -> Option<u8> {
    let (_, args) = args.split_first()?;
    let (name, args) = args.split_first()?;
    if name == bench::CPU_WORKER {
        worker::run();
    }
    if name == bench::BUILDER {
        let Err(error) = confined::become_confined(args);
        talk(&format!("error: {error}"));
        return Some(confined::NOT_STARTED);
    }
    if name != bench::CUDA_WORKER {
        return None;
    }
    let args: Vec<&OsStr> = args.iter().map(OsString::as_os_str).collect();
    let served = cuda::serve(&args);
    Some(served.map_or_else(
        |error| {
            talk(&format!("error: {error}"));
            FAILED
        },
        |()| DONE,
    ))
}

/// Where and how kernels are timed.
#[derive(Args, Debug)]
struct Bench {
    /// Device: `cpu`, or `cuda:0` for the first GPU [default: what the program is written for]
    #[arg(long, value_name = "DEVICE", value_parser = target)]
    target: Option<Target>,
    /// Platform of the records [default: the device's name in short]
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Name of the run, of which the source's name is made [default: the program's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Core to time on
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Leave the core to whoever else wants it: no real-time priority
    #[arg(long)]
    no_realtime: bool,
    /// Let kernels and compilers use network, other programs and all files
    #[arg(long)]
    no_sandbox: bool,
    /// What caches hold before a call [default: what the manifest says]
    #[arg(long, value_name = "STATE", value_enum)]
    cache: Option<CacheState>,
    /// Kernels that are built at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Time after which records are stored
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    commit_every: Duration,
    /// Records after which they are stored
    #[arg(long, value_name = "N", default_value_t = 500)]
    commit_records: u64,
    /// What the values of inputs are drawn from
    #[arg(long, value_name = "N", default_value_t = 0)]
    input_seed: u64,
    /// Go on where nearly all kernels fail alike
    #[arg(long)]
    keep_going: bool,
    /// Say what happens as lines of JSON on standard output
    #[arg(long)]
    json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum CacheState {
    /// What the call before left there
    Warm,
    /// Nothing: arguments are flushed before every call
    Cold,
}

fn target(text: &str) -> std::result::Result<Target, String> {
    match text.split_once(':') {
        None if text == "cpu" => Ok(Target::Cpu),
        None if text == "cuda" => Ok(Target::Cuda(0)),
        Some(("cuda", number)) => match number.parse() {
            Ok(number) => Ok(Target::Cuda(number)),
            Err(_) => Err(format!("`{number}` is no number of a GPU")),
        },
        _ => Err("expected `cpu` or `cuda:0`".to_owned()),
    }
}

impl Bench {
    /// Options for programs that run on `device`.
    fn options(&self, device: Target, stop: &Arc<AtomicBool>) -> Result<RunOptions> {
        let target = self.target.unwrap_or(device);
        if (target == Target::Cpu) != (device == Target::Cpu) {
            let what = if device == Target::Cpu {
                "the processor, not for a GPU"
            } else {
                "a GPU, not for the processor"
            };
            return Err(Error::Usage(format!("the program is for {what}")));
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let worker = std::env::current_exe().map_err(Error::io(PathBuf::from("tsql")))?;
        Ok(RunOptions {
            worker,
            scratch: std::env::temp_dir(),
            target,
            platform: self.platform.clone(),
            name: self.name.clone(),
            core: self.core,
            realtime: !self.no_realtime,
            sandbox: !self.no_sandbox,
            jobs: self.jobs.unwrap_or(cores),
            commit_every: self.commit_every,
            commit_records: self.commit_records,
            input_seed: self.input_seed,
            cache: self.cache.map(|cache| match cache {
                CacheState::Warm => Cache::Warm,
                CacheState::Cold => Cache::Cold,
            }),
            keep_going: self.keep_going,
            stop: Arc::clone(stop),
        })
    }
}

pub(super) async fn run(place: &Place, command: Measure) -> Result<u8, Failure> {
    match command.command {
        Command::Template(command) => return Ok(template::run(command)?),
        Command::Doctor(command) => return doctor::doctor(command),
        Command::Env(command) => return doctor::env(command),
        Command::Devices(command) => return doctor::devices(command),
        Command::Run(ref command) if command.dry_run => {
            return Ok(run::dry_run(command, &Arc::new(command.loaded()?)));
        }
        _ => {}
    }
    // A manifest that cannot be read is no reason to make a store.
    let loaded = match &command.command {
        Command::Run(command) => Some(Arc::new(command.loaded()?)),
        _ => None,
    };
    let store = place.open_or_create().await?;
    let stop = stop_on_ctrl_c();
    let runtime = Handle::current();
    confined::hide_process();
    // Measuring is no work for a thread of the runtime: it blocks, and for long.
    let (end, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let done = dispatch(&store, command.command, loaded.as_ref(), &stop, &runtime);
        let _ = end.send(done);
    });
    let lost = || Failure::from(Error::Usage("measuring ended without a word".to_owned()));
    ended.await.map_err(|_| lost())?
}

fn dispatch(
    store: &Store,
    command: Command,
    loaded: Option<&Arc<Loaded>>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
) -> Result<u8, Failure> {
    match (command, loaded) {
        (Command::Run(command), Some(loaded)) => run::run(store, &command, loaded, stop, runtime),
        (Command::Exec(command), _) => exec::run(store, command, stop, runtime),
        (Command::Repeat(command), _) => repeat::run(store, &command, stop, runtime),
        _ => {
            let resumed = sink::resume(store, runtime)?;
            tell_resumed(&resumed);
            if resumed.journals == 0 && resumed.damaged.is_empty() {
                talk("no run has left anything for this store");
            }
            Ok(if resumed.damaged.is_empty() {
                DONE
            } else {
                PARTLY
            })
        }
    }
}

fn tell_resumed(resumed: &sink::Resumed) {
    if resumed.journals > 0 {
        talk(&format!(
            "{} of earlier runs stored, {} new",
            counted(resumed.journals, "journal"),
            counted(resumed.records, "record")
        ));
    }
    for (path, lines) in &resumed.damaged {
        for line in lines {
            talk(&format!(
                "{}:{line}: damaged, not stored; the journal stays here",
                path.display()
            ));
        }
    }
    for (path, store) in &resumed.elsewhere {
        talk(&format!(
            "note: {} holds timings for {store}\nhint: tsql --store {store} measure resume",
            path.display()
        ));
    }
}
