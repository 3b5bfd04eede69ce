//! `tsql replay`: searches over stored measurements.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tsql_ml::replay::{
    Coverage, Policy, PolicyReplay, Replay, ReplayAxis, ReplayOptions, Scheduler, TaskReplay,
    replay,
};

use super::outcome::{DONE, Failure};
use super::output::{Output, show, write_json};
use super::percent::percent;
use super::printer::Format;
use super::short_values::{format_number, truncate};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Width of a PNG file in pixels.
const PNG_WIDTH: u32 = 1600;

/// Replay searches over measured configurations: best time so far against draws and seconds
///
/// A task is a graph on a platform, and its trials are the configurations with a record. A search draws each trial once,
/// in the order of its policy:
///
/// - `random`: any trial. Exact against draws: the mean of the searches that found a time, and a band from 5 % to 95 %.
///
/// - `recorded`: the order of the records.
///
/// - `greedy`: by --predictions, best first.
///
/// - `epsilon-greedy`: as `greedy`, but with the probability --epsilon any trial.
///
/// A replay is exact if the trials are the whole search space (`exhaustive`). Else the best time is only that of the
/// records.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql replay --exhaustive\n  \
    tsql replay --where \"platform = 'a100'\" --draws 1,10,100,1000\n  \
    tsql replay --predictions model.parquet --plot search.svg\n  \
    tsql replay --policy random,epsilon-greedy --predictions model.parquet\n  \
    tsql replay --network resnet_50 --scheduler gradient --draws 1000,10000")]
pub(super) struct ReplayArgs {
    /// Policies; speed-ups are relative to the first [default: random, and greedy with --predictions]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(Policy::ALL.map(Policy::name)).try_map(|name| name.parse::<Policy>()))]
    policy: Vec<Policy>,
    /// Predictions: a Parquet, Arrow, CSV, JSON lines or npz file, or a query in parentheses
    ///
    /// Columns as for `tsql score`: `config_key`; either `prediction` (higher is faster) or `predicted_ns`; and
    /// `platform`, if the records have several.
    #[arg(long, value_name = "FILE")]
    predictions: Option<String>,
    /// Leave out tasks whose trials are not known to be the whole search space
    #[arg(long, conflicts_with = "network")]
    exhaustive: bool,
    /// Draw configurations without a prediction last
    #[arg(long)]
    allow_missing: bool,
    /// Probability with which epsilon-greedy draws any trial
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    epsilon: f64,
    /// SQL condition over `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        hide_default_value = true
    )]
    predicate: String,
    /// Numbers of draws for which the table has the best time
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,10,100"
    )]
    draws: Vec<usize>,
    /// Distance from the best time that a search has to reach [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    within: Option<f64>,
    /// Probability with which a search has to reach it
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    probability: f64,
    /// Number of simulated searches of a random policy
    #[arg(long, value_name = "N", default_value_t = 100)]
    seeds: u32,
    /// Seed of the simulated searches
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Replay the tasks of this network together, by weight: `resnet_50`
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Division of the draws among the tasks of a network [default: gradient]
    #[arg(long, value_name = "NAME", requires = "network",
        value_parser = PossibleValuesParser::new(Scheduler::ALL.map(Scheduler::name)).try_map(|name| name.parse::<Scheduler>()))]
    scheduler: Option<Scheduler>,
    /// Number of draws that the scheduler gives to a task at once [default: 64]
    #[arg(long, value_name = "N", requires = "network")]
    round: Option<usize>,
    /// Plot the best time so far of the first six tasks to FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Horizontal axis of the plot
    #[arg(long, value_name = "AXIS", default_value = ReplayAxis::Draws.name(), requires = "plot",
        value_parser = PossibleValuesParser::new(["draws", "seconds"]).map(|name| ReplayAxis::from_name(&name).unwrap_or(ReplayAxis::Draws)))]
    against: ReplayAxis,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: ReplayArgs) -> Result<u8, Failure> {
    let store = place.open().await?;
    let mut options = ReplayOptions::default()
        .predicate(command.predicate)
        .policies(command.policy)
        .exhaustive(command.exhaustive)
        .allow_missing(command.allow_missing)
        .epsilon(command.epsilon)
        .draws(command.draws)
        .probability(command.probability)
        .seeds(command.seeds)
        .seed(command.seed);
    if let Some(predictions) = command.predictions {
        options = options.predictions(predictions);
    }
    if let Some(fraction) = command.within {
        options = options.within(fraction);
    }
    if let Some(network) = command.network {
        options = options.network(network);
    }
    if let Some(scheduler) = command.scheduler {
        options = options.scheduler(scheduler);
    }
    if let Some(round) = command.round {
        options = options.round(round);
    }
    if let Some(bytes) = place.memory_limit_bytes() {
        options = options.memory_limit_bytes(bytes);
    }
    let found = replay(&store, &options).await?;
    if let Some(path) = &command.plot {
        found.draw(path, command.against, PNG_WIDTH)?;
    }
    print(&found, &command.output).await?;
    print_notes(&found);
    Ok(DONE)
}

async fn print(found: &Replay, output: &Output) -> Result<(), Failure> {
    let format = output.resolve_format()?;
    if format == Format::Json {
        return write_json(serde_json::to_string_pretty(found), output);
    }
    let for_people = matches!(format, Format::Table | Format::Markdown);
    let columns = columns(found, for_people);
    let columns = columns.iter();
    show(
        columns.map(|(name, column)| (name.as_str(), Arc::clone(column))),
        output,
    )
    .await?;
    Ok(())
}

/// Number of a row.
type PolicyNumber = fn(&PolicyReplay) -> Option<f64>;

/// A row for each task and policy.
fn columns(found: &Replay, for_people: bool) -> Vec<(String, ArrayRef)> {
    let tasks = found.tasks.iter();
    let rows = tasks.flat_map(|task| task.policies.iter().map(move |policy| (task, policy)));
    let rows: Vec<(&TaskReplay, &PolicyReplay)> = rows.collect();
    let texts = |get: &dyn Fn(&TaskReplay, &PolicyReplay) -> Option<String>| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|(task, policy)| get(task, policy))
                .collect::<StringArray>(),
        )
    };
    let counts = |get: &dyn Fn(&TaskReplay) -> Option<usize>| -> ArrayRef {
        let counts = rows.iter().map(|(task, _)| i64::try_from(get(task)?).ok());
        Arc::new(counts.collect::<Int64Array>())
    };
    let numbers = |get: &dyn Fn(&TaskReplay, &PolicyReplay) -> Option<f64>| -> ArrayRef {
        let numbers = rows.iter().map(|(task, policy)| get(task, policy));
        let numbers: Float64Array = format_number(numbers, for_people);
        Arc::new(numbers)
    };
    let name = |task: &TaskReplay| match for_people {
        true => truncate(&task.name),
        false => task.name.clone(),
    };
    let subject = if found.scheduler.is_some() {
        "network"
    } else {
        "task"
    };
    let mut columns = vec![
        (subject.to_owned(), texts(&|task, _| Some(name(task)))),
        (
            "platform".to_owned(),
            texts(&|task, _| Some(task.platform.clone())),
        ),
        (
            "policy".to_owned(),
            texts(&|_, policy| Some(policy.policy.to_string())),
        ),
    ];
    if found.scheduler.is_some() {
        columns.push(("tasks".to_owned(), counts(&|task| task.network_tasks)));
    }
    columns.push(("trials".to_owned(), counts(&|task| Some(task.trials))));
    columns.push(("timed".to_owned(), counts(&|task| Some(task.timed))));
    let coverage = texts(&|task, _| Some(task.coverage.name().to_owned()));
    columns.push(("coverage".to_owned(), coverage));
    columns.push(("best_ns".to_owned(), numbers(&|task, _| task.best_ns)));
    for (place, draws) in found.draws.iter().enumerate() {
        let best = numbers(&|_, policy| policy.best.get(place)?.best_ns);
        columns.push((format!("best_ns_{draws}"), best));
    }
    let results: [(&str, PolicyNumber); 4] = [
        ("draws_to_reach", |policy| policy.draws_to_reach),
        ("seconds_to_reach", |policy| policy.seconds_to_reach),
        ("draws_speedup", |policy| policy.draws_speedup),
        ("seconds_speedup", |policy| policy.seconds_speedup),
    ];
    // Tables for people have no empty columns, and no speed-up of one policy over itself.
    let has_peers = found.tasks.iter().any(|task| task.policies.len() > 1);
    let results = results.into_iter().filter(|(name, get)| {
        let is_known = rows.iter().any(|(_, policy)| get(policy).is_some());
        !for_people || is_known && (has_peers || !name.ends_with("speedup"))
    });
    for (name, get) in results {
        columns.push((name.to_owned(), numbers(&|_, policy| get(policy))));
    }
    if !for_people || rows.iter().any(|(_, policy)| policy.reason.is_some()) {
        columns.push((
            "reason".to_owned(),
            texts(&|_, policy| policy.reason.clone()),
        ));
    }
    if !for_people {
        let coverage = texts(&|task, _| task.coverage_reason.clone());
        columns.push(("coverage_reason".to_owned(), coverage));
        let seconds = texts(&|task, _| task.seconds_reason.clone());
        columns.push(("seconds_reason".to_owned(), seconds));
        columns.push((
            "graph_id".to_owned(),
            texts(&|task, _| task.graph_id.clone()),
        ));
    }
    columns
}

/// Prints facts that the table does not contain.
fn print_notes(found: &Replay) {
    let noun = if found.scheduler.is_some() {
        "network"
    } else {
        "task"
    };
    let mut text = format!(
        "{}; reached: within {} % of the best time in {} % of the searches",
        count_noun(found.tasks.len() as u64, noun),
        format_short(100.0 * found.within),
        format_short(100.0 * found.probability),
    );
    if found
        .tasks
        .iter()
        .any(|task| task.policies.iter().any(|policy| policy.policy.is_random()))
    {
        text += &format!(
            "; {}, seed {}",
            count_noun(found.seeds.into(), "simulation"),
            found.seed
        );
    }
    if let Some(scheduler) = found.scheduler {
        text += &format!("; scheduler {scheduler}");
    }
    print_message(&text);
    for speedup in &found.speedups {
        let first = found.tasks.iter().find_map(|task| task.policies.first());
        let (Some(draws), Some(first)) = (speedup.draws, first) else {
            continue;
        };
        let mut text = format!(
            "{} over {}: {} times fewer draws",
            speedup.policy,
            first.policy,
            format_short(draws)
        );
        if let Some(seconds) = speedup.seconds {
            text += &format!(", {} times fewer seconds", format_short(seconds));
        }
        if speedup.tasks > 1 {
            text += &format!(", geometric mean of {} {noun}s", speedup.tasks);
        }
        print_message(&text);
    }
    print_coverage(found, noun);
    if let Some(reason) = found
        .tasks
        .iter()
        .find_map(|task| task.seconds_reason.as_deref())
    {
        let count = found
            .tasks
            .iter()
            .filter(|task| task.seconds_reason.is_some())
            .count();
        let noun = count_noun(count as u64, noun);
        print_message(&format!("{noun} without results against seconds: {reason}"));
    }
    if found.missing > 0 {
        let missing = count_noun(found.missing, "record");
        print_message(&format!("{missing} without a prediction: drawn last"));
    }
    if found.unused > 0 {
        let unused = count_noun(found.unused, "prediction");
        print_message(&format!("{unused} for records that are not replayed"));
    }
}

/// Prints how trials that are not the whole space bias a replay.
fn print_coverage(found: &Replay, noun: &str) {
    let is_partial = |task: &&TaskReplay| {
        task.coverage > Coverage::Exhaustive && task.coverage < Coverage::Winners
    };
    let partial = found.tasks.iter().filter(is_partial);
    let count = partial.clone().count();
    if count > 0 {
        let reason = partial
            .clone()
            .find_map(|task| task.coverage_reason.as_deref());
        print_message(&format!(
            "{} not known to be exhaustive ({}): the best time may not be the optimum, and searches meet only recorded \
             configurations",
            count_noun(count as u64, noun),
            reason.unwrap_or_default()
        ));
    }
}

/// Number with three significant digits.
fn format_short(number: f64) -> String {
    let digits = format!("{number:.2e}").parse::<f64>();
    digits.unwrap_or(number).to_string()
}
