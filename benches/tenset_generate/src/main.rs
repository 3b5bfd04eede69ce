//! Writes logs of TenSet's shape and size: 120 networks' 2,308 tasks on six platforms, up to 4,000
//! programs each, 51,577,248 records, as JSON lines in a folder or straight into a tsql store.
//!
//! Everything follows from `--seed`. A file appears whole or not at all; files that are there, or
//! that the store's ledger names, are left alone, so an interrupted run goes on.
//!
//! Programs follow Ansor's rules for CPUs and GPUs (`schedule`), costs a task's speed, a program's
//! slowdown, which all platforms of a kind share, and a platform's own share of it (`cost`). Repeats
//! follow TenSet's rule: 4, 6, 8 or 10 by the task's operations, half as many again while they
//! deviate by more than a tenth. How this compares with real logs:
//! `docs/dev/decisions/001-generated-records.md`.

mod cost;
mod number;
mod schedule;
mod tasks;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;

use cost::{Measurements, PLATFORMS, Platform};
use number::rng;
use tasks::{Task, tasks};

/// Tasks whose logs are on the disk at once on their way into a store: 600 MB to 1 GB.
const PORTION_TASKS: usize = 200;

/// Logs of TenSet's shape and size, made up.
#[derive(Parser)]
struct Options {
    /// Write the logs to this folder
    #[arg(long, value_name = "DIR", required_unless_present = "store")]
    to: Option<PathBuf>,
    /// Ingest the logs into this store with `tsql`, a portion at a time, and delete them
    #[arg(long, value_name = "DIR", conflicts_with = "to")]
    store: Option<PathBuf>,
    /// The tsql to ingest with
    #[arg(long, value_name = "FILE", default_value = "tsql")]
    tsql: PathBuf,
    /// Folder for the logs on their way into the store
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Tasks of each kind of target; 2308 are 51.6 million records on six platforms
    #[arg(long, default_value_t = tasks::TASKS)]
    tasks: usize,
    /// Only every so-many-th task
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Only these platforms
    #[arg(long, value_delimiter = ',')]
    platforms: Vec<String>,
    /// Threads that write
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Seed of the generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let chosen = |platform: &&Platform| {
        options.platforms.is_empty() || options.platforms.iter().any(|name| name == platform.name)
    };
    for platform in PLATFORMS.iter().filter(chosen) {
        let tasks = tasks(platform.kind, options.tasks, options.seed);
        let tasks: Vec<&Task> = tasks.iter().step_by(options.every.max(1)).collect();
        match (&options.to, &options.store) {
            (Some(folder), _) => {
                write_logs(&folder.join(platform.name), platform, &tasks, &options)?
            }
            (None, Some(store)) => fill(store, platform, &tasks, &options)?,
            (None, None) => {}
        }
    }
    Ok(())
}

/// Ingests the logs of a platform that the store does not have yet.
fn fill(store: &Path, platform: &Platform, tasks: &[&Task], options: &Options) -> io::Result<()> {
    let tsql = || {
        let mut command = Command::new(&options.tsql);
        command.arg("--store").arg(store);
        command
    };
    let mut known = HashSet::new();
    if store.exists() {
        let query = format!(
            "SELECT path FROM sources WHERE platform = '{}'",
            platform.name
        );
        let answer = tsql().args([&query, "--format", "tsv"]).output()?;
        known.extend(
            String::from_utf8_lossy(&answer.stdout)
                .lines()
                .map(|path| file_of(path).to_owned()),
        );
    }
    let missing: Vec<&Task> = tasks
        .iter()
        .copied()
        .filter(|task| !known.contains(&log_name(task, platform)))
        .collect();
    for portion in missing.chunks(PORTION_TASKS) {
        let scratch = match &options.scratch {
            Some(folder) => tempfile::tempdir_in(folder)?,
            None => tempfile::tempdir()?,
        };
        let folder = scratch.path().join(platform.name);
        write_logs(&folder, platform, portion, options)?;
        let status = tsql().arg("ingest").arg(&folder).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("tsql ingest: {status}")));
        }
    }
    Ok(())
}

fn file_of(path: &str) -> &str {
    path.rsplit('/')
        .next()
        .unwrap_or(path)
        .trim_end_matches('"')
}

/// Writes a log for each task, two at a time.
fn write_logs(
    folder: &Path,
    platform: &Platform,
    tasks: &[&Task],
    options: &Options,
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads.max(1))
            .map(|_| {
                scope.spawn(|| {
                    while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let path = folder.join(log_name(task, platform));
                        if !path.exists() {
                            let part = path.with_extension("part");
                            fs::write(&part, log(task, platform, options.seed))?;
                            fs::rename(&part, &path)?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .map_err(|_| io::Error::other("a thread stopped"))?
        })
    })
}

/// The name that TenSet gives to the log: the key and the kind without blanks and quotes.
fn log_name(task: &Task, platform: &Platform) -> String {
    let key: String = task
        .key
        .chars()
        .filter(|c| !matches!(c, ' ' | '"'))
        .collect();
    format!("({key},{}).json", platform.kind.name())
}

/// All measurements of a task on a platform.
fn log(task: &Task, platform: &Platform, seed: u64) -> Vec<u8> {
    let key = task.key.replace('"', "\\\"");
    let layout = if platform.kind == tasks::Kind::Llvm {
        2
    } else {
        0
    };
    let head = format!(
        "{{\"i\": [[\"{key}\", \"{}\", {}, \"\", {layout}, []], [[], ",
        platform.target, platform.hardware
    );
    let mut programs = rng(seed, &[1, platform.kind as u64, task.number]);
    let of_platform = platform.name.bytes().map(u64::from);
    let words: Vec<u64> = [2, task.number].into_iter().chain(of_platform).collect();
    let mut measurements = Measurements::new(platform, task, rng(seed, &words));
    let mut out = Vec::with_capacity(1500 * 4000);
    let mut seen = HashSet::new();
    for _ in 0..task.programs {
        out.extend_from_slice(head.as_bytes());
        let begin = out.len();
        // Distinct programs, as they were sampled; a small space may be exhausted.
        for _ in 0..8 {
            out.truncate(begin);
            schedule::write_steps(platform.kind, task, &mut programs, &mut out);
            if seen.insert(short_hash(&out[begin..])) {
                break;
            }
        }
        let slowdown = -0.55 * (programs.f64() * programs.f64()).max(1e-12).ln();
        out.extend_from_slice(b"]], \"r\": ");
        measurements.write(slowdown, &mut out);
        out.extend_from_slice(b", \"v\": \"v0.6\"}\n");
    }
    out
}

fn short_hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|&word| u64::from_le_bytes(word));
    let rest = rest.iter().map(|&byte| u64::from(byte));
    words.chain(rest).fold(0, |hash: u64, word| {
        (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}
