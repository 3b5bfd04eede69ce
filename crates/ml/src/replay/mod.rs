//! Replay of searches over stored measurements: how soon a search would have found a fast configuration.
//!
//! ```text
//! records ─▶ trials of each task ─▶ orders of policies ─▶ best time against draws and seconds ─▶ table, plot
//!             (SQL; one for each      (closed form, or     (mean, band over seeds)
//!              configuration)          simulated searches)
//! ```
//!
//! * A task is a graph on a platform. A trial is a configuration: its time is the mean of its records
//!   (`records.runtime_ns`), and it failed if all of them failed.
//! * A search draws trials without repetition. A failed trial costs a draw and has no time.
//! * Random search against draws is exact: the mean is that of searches with a time, and the band is from order
//!   statistics. All else is simulated, with a search for each seed.
//! * A draw costs its compile and benchmark time and the overhead of the tuner, or `all_cost_s`. If the cost of a trial is
//!   unknown, the task has no results against seconds.
//! * A replay is exact only if the trials are the whole search space. Else the best time is only the best of the records,
//!   and a search meets only configurations that an earlier search chose.
//!
//! ```
//! use tsql_ml::replay::{ReplayOptions, replay};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let found = replay(&store, &ReplayOptions::default().predicate("platform = 'epyc-1t'")).await?;
//! let random = &found.tasks[0].policies[0];
//! assert!(random.best[0].best_ns > random.best[1].best_ns);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

#[cfg_attr(not(feature = "plot"), path = "no_chart.rs")]
mod chart;
mod curve;
mod network;
mod options;
mod policy;
mod records;
mod report;
mod scheduler;
mod task;
mod trials;

use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};
use tsql_session::key_columns::source_error;
use tsql_session::open_session_with;
use tsql_store::Store;

use crate::score::{MatchedPredictions, Predictions};
use network::{NetworkWeights, network_selection};
use records::TrialReader;
use task::{TaskTrials, replay_network, replay_task, speedups};

pub use curve::CurvePoint;
pub use options::{ReplayAxis, ReplayOptions};
pub use policy::Policy;
pub use report::{Coverage, PolicyReplay, PolicySpeedup, Replay, TaskReplay};
pub use scheduler::Scheduler;

/// Replays searches over the tasks of a store.
///
/// Trials of one task, or of one network, are in memory.
///
/// # Errors
/// [`Error::Empty`] without trials, [`Error::Argument`] for options out of range, [`Error::Unknown`] for a network that the
/// store lacks, [`Error::Source`] and [`Error::Ambiguous`] for predictions as in [`score`](crate::score::score),
/// [`Error::Query`] for an invalid predicate.
pub async fn replay(store: &Store, options: &ReplayOptions) -> Result<Replay> {
    options.check()?;
    let context = open_session_with(store, &options.session()).await?;
    let weights = match &options.network {
        Some(name) => Some(NetworkWeights::read(&context, name).await?),
        None => None,
    };
    let of_network = options.network.as_deref().map(network_selection);
    let selection = format!(
        "status <> 'unmeasured' AND ({}){}",
        options.predicate,
        of_network.unwrap_or_default()
    );
    let mut matched = match &options.predictions {
        Some(from) => {
            let predictions = Predictions::read(&context, from).await?;
            Some(MatchedPredictions::load(&context, predictions, &selection).await?)
        }
        None => None,
    };
    let (mut tasks, mut of_networks) = (Vec::new(), Vec::new());
    let mut reader = TrialReader::new(&context, &selection, matched.as_mut()).await?;
    let mut left_out = 0_usize;
    let pass = |task: TaskTrials| match weights {
        _ if options.exhaustive && task.coverage != Coverage::Exhaustive => left_out += 1,
        Some(_) => of_networks.push(task),
        None => tasks.push(replay_task(&task, options)),
    };
    reader.read(&context, &selection, pass).await?;
    if let Some(weights) = weights {
        let networks = weights.networks(of_networks)?;
        let replays = networks.iter();
        tasks.extend(replays.map(|network| replay_network(network, options)));
    }
    if tasks.is_empty() {
        return Err(no_tasks(options, left_out));
    }
    let (missing, unused) = check_predictions(&context, matched, options).await?;
    // The best known and largest spaces first.
    tasks.sort_by(|one, other| {
        let size = (one.coverage, other.trials).cmp(&(other.coverage, one.trials));
        size.then_with(|| (&one.name, &one.platform).cmp(&(&other.name, &other.platform)))
    });
    let speedups = speedups(&tasks, &options.replayed_policies());
    Ok(Replay {
        version: 1,
        predictions: options.predictions.clone(),
        missing,
        unused,
        draws: options.draws.clone(),
        within: options.within,
        probability: options.probability,
        epsilon: options.epsilon,
        seeds: options.seeds,
        seed: options.seed,
        scheduler: options.network.is_some().then_some(options.scheduler),
        tasks,
        speedups,
    })
}

/// Error for a store without a task to replay.
fn no_tasks(options: &ReplayOptions, left_out: usize) -> Error {
    if left_out > 0 {
        return Error::Empty(format!(
            "none of {left_out} tasks is known to be exhaustive\n\
             hint: `tsql queries search-spaces` shows why"
        ));
    }
    Error::Empty(format!(
        "there are no trials to replay: no measured record matches `{}`\n\
         hint: `tsql \"SELECT * FROM records LIMIT 5\"` shows existing records",
        options.predicate
    ))
}

/// Checks the match of predictions and records. Returns the number of records without a prediction, and of predictions
/// without a record.
async fn check_predictions(
    context: &SessionContext,
    matched: Option<MatchedPredictions>,
    options: &ReplayOptions,
) -> Result<(u64, u64)> {
    let Some(mut matched) = matched else {
        return Ok((0, 0));
    };
    let unused = matched.check_all_seen(context, true).await?;
    let (records, missing) = matched.counts();
    if missing > 0 && !options.allow_missing {
        let reason = format!(
            "{missing} of {records} records have no prediction\n\
             hint: --allow-missing draws their configurations last"
        );
        return Err(source_error(matched.predictions.source(), reason));
    }
    Ok((missing, unused))
}
