//! `tsql measure run`: a program's configurations, one after the other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use tokio::runtime::Handle;
use tsql_measure::backends::Address;
use tsql_measure::manifest::Manifest;
use tsql_measure::search::Kind;
use tsql_measure::space::Config;
use tsql_metrics::median::median;

use super::bench::Bench;
use super::resume::tell_resumed;
use super::watch::{Watch, time};
use crate::cli::outcome::{DONE, Failure, INTERRUPTED, PARTLY};
use crate::cli::talk::{counted, talk};
use crate::store::Store;
use crate::trials::plan::{Plan, Searches};
use crate::trials::run::{Summary, TrialRun};
use crate::trials::{Loaded, known, sink};

/// Trials where neither `--trials` nor `--search grid` says how many.
const TRIALS: u64 = 100;

/// Build and time a program's configurations
///
/// PROGRAM is a manifest (TOML) or the name of a template (`tsql measure template list`). A failed
/// kernel is a record with TVM's error number; a machine without compiler or device ends the run. Exit
/// code 1 where every trial failed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure run matmul --trials 200\n  \
    tsql measure run softmax-cuda --target cuda:0\n  \
    tsql measure run kernel.toml --search grid --skip-existing\n  \
    tsql measure run kernel.toml --dry-run")]
pub(super) struct Run {
    /// Manifest, or name of a template
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// Trials at most, over all workloads [default: 100; of a grid all]
    #[arg(long, value_name = "N")]
    trials: Option<u64>,
    /// Which configurations come next
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Search::Evolve)]
    search: Search,
    /// What the search draws configurations from [default: another number for each run, which is told]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Leave out configurations of this very program, built as here, that the store has for the platform
    #[arg(long)]
    skip_existing: bool,
    /// Say what would be measured, and measure nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    bench: Bench,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Search {
    /// All, in order
    Grid,
    /// Any, each once
    Random,
    /// Children of the fastest so far
    Evolve,
}

impl Run {
    /// The program, read and found sound.
    pub(super) fn loaded(&self) -> Result<Loaded, Failure> {
        Ok(Loaded::named(&self.program)?)
    }

    /// What the search draws from, told where it draws; a grid does not.
    fn drawn(&self) -> Option<u64> {
        if matches!(self.search, Search::Grid) {
            return None;
        }
        // Short enough to be typed again.
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
        if self.seed.is_none() && !self.bench.json {
            talk(&format!(
                "seed {seed}: `--seed {seed}` draws from the same numbers"
            ));
        }
        Some(seed)
    }

    fn plan(
        &self,
        loaded: &Arc<Loaded>,
        seed: Option<u64>,
        known: &HashMap<String, HashSet<Config>>,
    ) -> Searches {
        let (kind, trials) = match self.search {
            Search::Grid => (Kind::Grid, self.trials),
            Search::Random => (Kind::Random, self.trials.or(Some(TRIALS))),
            Search::Evolve => (Kind::Evolve, self.trials.or(Some(TRIALS))),
        };
        Searches::new(loaded, kind, seed.unwrap_or_default(), trials, known)
    }
}

pub(super) fn run(
    store: &Store,
    command: &Run,
    loaded: &Arc<Loaded>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
) -> Result<u8, Failure> {
    tell_resumed(&sink::resume(store, runtime)?);
    let device = Address::of(loaded.manifest.language());
    let options = command.bench.options(device, stop)?;
    let mut run = TrialRun::new(store, &options, runtime)?;
    let known = if command.skip_existing {
        let environment = run.environment(loaded)?;
        runtime.block_on(known::measured(store, run.platform(), &environment))?
    } else {
        HashMap::new()
    };
    let seed = command.drawn();
    let mut plan = command.plan(loaded, seed, &known);
    let mut watch = Watch::new(command.bench.json, seed);
    let ended = run.all(&mut plan, loaded.manifest.name(), |event| {
        watch.hear(&event)
    });
    watch.end();
    let summary = ended?;
    tell(&summary, loaded);
    let all_failed = summary.records > 0 && summary.failed == summary.records;
    Ok(match summary.interrupted {
        true => INTERRUPTED,
        // Some failures are what a search finds out; where nothing works, something is wrong.
        false if all_failed => PARTLY,
        false => DONE,
    })
}

/// Says what would be measured first.
pub(super) fn dry_run(command: &Run, loaded: &Arc<Loaded>) -> u8 {
    let mut plan = command.plan(loaded, command.drawn(), &HashMap::new());
    let total = plan.total();
    // What comes next may depend on what came before.
    let first: Vec<String> = std::iter::from_fn(|| plan.next())
        .take(5)
        .map(|item| {
            let config = Manifest::config_text(&item.config);
            format!("  {} {config}", item.workload_key())
        })
        .collect();
    talk(&match total {
        Some(total) => format!("{} at most, the first:", counted(total, "trial")),
        None => "every configuration that the constraints allow, the first:".to_owned(),
    });
    talk(&first.join("\n"));
    DONE
}

/// The best of each workload, and what failed.
fn tell(summary: &Summary, loaded: &Loaded) {
    for workload in loaded.manifest.workloads() {
        let of_it = summary
            .trials
            .iter()
            .filter(|done| done.item.params == workload.params);
        let best = of_it
            .filter_map(|done| Some((median(&done.times_ns)?.value, &done.item)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((median_ns, item)) = best else {
            continue;
        };
        let rate = workload
            .flops
            .map(|flops| format!(", {:.2} GFLOP/s", flops / median_ns));
        talk(&format!(
            "best of {}: {}{} with {}",
            item.workload_key(),
            time(median_ns),
            rate.unwrap_or_default(),
            Manifest::config_text(&item.config)
        ));
    }
    let mut kinds: HashMap<String, u64> = HashMap::new();
    for message in summary
        .trials
        .iter()
        .filter_map(|done| done.failure.as_ref())
    {
        let kind = message.lines().next().unwrap_or_default();
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (message, count) in kinds.iter().take(5) {
        talk(&format!("{count} failed: {message}"));
    }
    talk(&format!(
        "{}, {} failed, {} new to the store",
        counted(summary.records, "trial"),
        summary.failed,
        counted(summary.report.new_configurations, "configuration")
    ));
}
