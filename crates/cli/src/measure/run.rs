//! `tsql measure run`: builds and times the configurations of a program.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, ValueEnum};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_dataset::trials::measure;
use tsql_dataset::trials::{Event, LoadedProgram, MeasureOptions, Measured, Search as Kind};
use tsql_dataset::trials::{SearchPlan, TrialPlan as _};
use tsql_error::Result;
use tsql_store::Store;

use super::bench::Bench;
use super::resume::report_resumed;
use super::run_events::{Watch, time};
use crate::outcome::{DONE, Failure, INTERRUPTED, PARTLY};
use crate::stderr::{count_noun, print_message};

/// Build and time the configurations of a program
///
/// PROGRAM is a manifest (TOML) or the name of a template (`tsql measure template list`). A failed kernel becomes a
/// record with TVM's error number; a missing compiler or device ends the run. Exit code 1 if every trial failed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure run matmul --trials 200\n  \
    tsql measure run softmax-cuda --target cuda:0\n  \
    tsql measure run kernel.toml --search grid --skip-existing\n  \
    tsql measure run kernel.toml --dry-run")]
pub(super) struct Run {
    /// Manifest file, or name of a template
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// Maximum number of trials over all workloads [default: 100; unlimited for a grid]
    #[arg(long, value_name = "N")]
    trials: Option<u64>,
    /// Search strategy
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Search::Evolve)]
    search: Search,
    /// Seed of the search [default: a random number, which is printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Skip configurations of the same program and build that the store has for the platform
    #[arg(long)]
    skip_existing: bool,
    /// List the first trials, and measure nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    bench: Bench,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Search {
    /// All configurations, in order
    Grid,
    /// Random configurations, each once
    Random,
    /// Mutations of the fastest configurations so far
    Evolve,
}

impl Run {
    /// Loads and validates the program.
    pub(super) fn load(&self) -> Result<LoadedProgram, Failure> {
        Ok(LoadedProgram::open(&self.program)?)
    }

    /// Returns the options of the command line. Prints a random seed, so that the search can be repeated.
    fn options(&self, stop: &Arc<AtomicBool>) -> Result<MeasureOptions> {
        let mut options = self.bench.options(stop)?.skip_existing(self.skip_existing);
        options = options.search(match self.search {
            Search::Grid => Kind::Grid,
            Search::Random => Kind::Random,
            Search::Evolve => Kind::Evolve,
        });
        options = options
            .set_if(self.trials, MeasureOptions::trials)
            .set_if(self.seed, MeasureOptions::seed);
        let search_seed = options.search_seed();
        if let Some(seed) = search_seed
            && self.seed.is_none()
            && !self.bench.json
        {
            print_message(&format!(
                "seed {seed}; `--seed {seed}` draws the same random numbers"
            ));
        }
        Ok(options.set_if(search_seed, MeasureOptions::seed))
    }
}

pub(super) async fn run(
    store: &Store,
    command: &Run,
    loaded: LoadedProgram,
    stop: &Arc<AtomicBool>,
) -> Result<u8, Failure> {
    let options = command.options(stop)?;
    let watch = Arc::new(Mutex::new(Watch::new(
        command.bench.json,
        options.search_seed(),
    )));
    let watching = Arc::clone(&watch);
    let options = options.progress(move |event| {
        if let Event::Resumed(resumed) = &event {
            report_resumed(resumed);
        }
        let mut watch = watching.lock().unwrap_or_else(PoisonError::into_inner);
        watch.hear(&event);
    });
    let workloads = loaded.manifest.workloads().iter();
    let keys = workloads.map(|workload| loaded.manifest.workload_key(&workload.params));
    let keys: Vec<String> = keys.collect();
    let ended = measure(store, loaded, &options).await;
    watch.lock().unwrap_or_else(PoisonError::into_inner).end();
    let measured = ended?;
    print_summary(&measured, &keys);
    let all_failed = !measured.trials.is_empty() && measured.failed == measured.trials.len() as u64;
    Ok(match measured.interrupted {
        true => INTERRUPTED,
        // Some failures are normal in a search. If every trial fails, the cause is a general one.
        false if all_failed => PARTLY,
        false => DONE,
    })
}

/// Prints the first trials, and measures nothing.
pub(super) fn dry_run(command: &Run) -> Result<u8, Failure> {
    let (options, loaded) = (command.options(&Arc::default())?, Arc::new(command.load()?));
    let mut plan =
        SearchPlan::from_options(&loaded, &options, options.search_seed(), &HashMap::new());
    let total = plan.total();
    // A trial may depend on earlier ones, so only the first are computed.
    let first: Vec<String> = std::iter::from_fn(|| plan.next())
        .take(5)
        .map(|item| format!("  {} {}", item.workload_key(), item.steps()))
        .collect();
    print_message(&match total {
        Some(total) => format!("at most {}, the first ones:", count_noun(total, "trial")),
        None => "every configuration that the constraints allow, the first ones:".to_owned(),
    });
    print_message(&first.join("\n"));
    Ok(DONE)
}

/// Prints the best trial of each workload, and the most frequent failures.
fn print_summary(measured: &Measured, workload_keys: &[String]) {
    let trials = &measured.trials;
    for key in workload_keys {
        let workload_trials = trials.iter().filter(|trial| trial.workload_key == *key);
        // Trials without flags come first: other work may have disturbed a flagged one.
        let best = workload_trials
            .filter_map(|trial| Some((!trial.flags.is_empty(), trial.median_ns?, trial)))
            .min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1)));
        let Some((is_flagged, median_ns, trial)) = best else {
            continue;
        };
        let rate = trial.gflops.map(|gflops| format!(", {gflops:.2} GFLOP/s"));
        let doubt = match is_flagged {
            true => format!(
                " (every trial is flagged, this one {})",
                trial.flags.join(", ")
            ),
            false => String::new(),
        };
        print_message(&format!(
            "best of {key}: median {}{} with {}{doubt}",
            time(median_ns),
            rate.unwrap_or_default(),
            trial.steps
        ));
    }
    let mut kinds: HashMap<String, u64> = HashMap::new();
    let messages = trials
        .iter()
        .filter_map(|trial| trial.error_message.as_ref());
    for message in messages {
        let kind = message.lines().next().unwrap_or_default();
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (message, count) in kinds.iter().take(5) {
        print_message(&format!("{count} failed: {message}"));
    }
    print_message(&format!(
        "{}, {} failed, {} new to the store, on platform `{}`",
        count_noun(trials.len() as u64, "trial"),
        measured.failed,
        count_noun(measured.stored.new_configurations, "configuration"),
        measured.platform
    ));
}
