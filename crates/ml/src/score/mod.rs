//! Scores of predictions against measurements, in the format of published tables.
//!
//! ```text
//!  predictions ─▶ by keys ─▶ records ─▶ tasks ─▶ units ─▶ groups ─▶ table, intervals
//!   (a file)     (missing, duplicate,  (of a split)  (each predictor)
//!                 unknown: rejected)
//! ```
//!
//! * A prediction is for a configuration (`config_key`, the same in every store) and, if records have several
//!   platforms, for a `platform`. It is a `prediction`, higher for a faster configuration, or a time, `predicted_ns`.
//! * Errors of labels (`rmse`, `r2`, `mape`) use a prediction as a label. A time is converted to the label relative to
//!   the best measured time.
//! * A configuration that was measured several times has a row for each measurement, as upstream.
//! * Baselines are a random order (its expected score) and upper bounds. In the first bound, the first repeat predicts
//!   the mean of the others. In the second, the first measurement of a configuration predicts the mean of its later
//!   ones.
//! * An interval contains 95 % of the scores of tasks that are resampled with replacement. All predictors use the same
//!   resamples.
//! * Scores are never misleadingly good. Groups with NaN or infinite predictions have no score. Tasks that cannot be
//!   ranked (one row, equal labels, all failed) are left out and counted by reason.

mod graphnet;
mod groups;
mod ids;
mod indices;
mod matched;
mod matrix;
mod networks;
mod options;
mod predictions;
mod report;
mod table;
mod tasks;
mod tenset;
mod tpugraphs;
mod unit;

use std::thread;

use tsql_error::{Error, Result};
use tsql_session::open_session;
use tsql_store::Store;

use groups::ScoreGroups;
use indices::EvaluationIndices;
use options::OFFICIAL;
use table::ScoreTable;
use tasks::{ReadOptions, Task, TaskIdentity, Tasks};
use tenset::MetricColumns;
use unit::{ScoreUnit, UnitMetric};

use crate::splits::find_split;

pub(crate) use matched::MatchedPredictions;
pub(crate) use networks::{GraphTarget, Network, networks, target_kind};
pub(crate) use predictions::Predictions;

pub use matrix::{MatrixCell, ScoreMatrix, score_matrix};
pub use options::{ScoreOptions, Scoring};
pub use report::{Predictor, Score, ScoreReport, ScoreRow};
pub use tsql_metrics::throughput::Variant;

/// Scores predictions, in the table of `scoring`: a file (Parquet, Arrow, CSV, JSON lines, npz), or a query in
/// parentheses.
///
/// # Errors
/// [`Error::Source`] for invalid predictions, with a count for each reason: a column is missing or ambiguous,
/// records have no prediction, predictions are duplicate or belong to another store. Also for malformed evaluation
/// indices, and for those of graphs that the store lacks.
/// [`Error::Ambiguous`] if predictions have no platform but there are several, [`Error::Empty`] if there is nothing
/// to score, [`Error::Query`] for an invalid predicate.
pub async fn score(
    store: &Store,
    scoring: Scoring,
    predictions: &str,
    options: &ScoreOptions,
) -> Result<ScoreReport> {
    let split = match &options.split {
        Some(name) => Some(find_split(store, name).await?),
        None => None,
    };
    let full_name = split.as_ref().map(|split| split.full_name());
    let context = open_session(store).await?;
    let mut selection = options.selection(scoring, full_name.as_deref());
    let drawn = EvaluationIndices::load(&context, scoring, options).await?;
    if let Some(drawn) = &drawn {
        selection += &format!(" AND {}", drawn.selection());
    }
    let predictions = Predictions::read(&context, predictions).await?;
    let mut matched = MatchedPredictions::load(&context, predictions, &selection).await?;
    let by = match scoring {
        Scoring::Tenset | Scoring::Tlp => TaskIdentity::Target,
        Scoring::Tpugraphs => TaskIdentity::Source,
        Scoring::Graphnet => TaskIdentity::Graph,
    };
    let reading = ReadOptions {
        selection: &selection,
        drawn: drawn.as_ref(),
        by,
        spares_failed: scoring != Scoring::Graphnet && options.variant == Variant::Valid,
    };
    let tasks = Tasks::read(&context, &mut matched, reading).await?;
    if let Some(drawn) = &drawn {
        drawn.check_seen(matched.counts().0)?;
    }
    let unused = matched
        .check_all_seen(&context, options.allow_missing)
        .await?;
    let are_times = matched.predictions.are_times();
    let (metrics, main, units, groups): (Vec<UnitMetric>, _, _, ScoreGroups);
    match scoring {
        Scoring::Tenset | Scoring::Tlp => {
            let columns = MetricColumns::for_scoring(scoring);
            let variant = options.variant;
            units = score_tasks(&tasks.tasks, |_, task| {
                tenset::unit(task, &columns, are_times, variant)
            })?;
            groups = groups::group_tasks(&context, &matched, &tasks, scoring).await?;
            (metrics, main) = (columns.metrics, columns.main);
        }
        Scoring::Tpugraphs => {
            let ids = ids::file_ids(&context).await?;
            let name = |task: &Task| ids.get(&task.key.target).map_or("", String::as_str);
            let names = tasks.tasks.iter().map(name);
            let names = names.map(|id| ids::collection(id).to_owned());
            let names: Vec<String> = names.collect();
            units = score_tasks(&tasks.tasks, |place, task| {
                let name = names.get(place).map_or("", String::as_str);
                tpugraphs::unit(task, name, are_times)
            })?;
            groups = groups::group_by_name("collection", &names);
            (metrics, main) = (tpugraphs::METRICS.to_vec(), tpugraphs::MAIN);
        }
        Scoring::Graphnet => {
            let samples = graphnet::samples(&context).await?;
            let name = |task: &Task| matched.platform_name(task.key.platform);
            let names = tasks.tasks.iter().map(name).map(Option::unwrap_or_default);
            let names: Vec<String> = names.map(str::to_owned).collect();
            units = score_tasks(&tasks.tasks, |_, task| {
                graphnet::unit(task, &samples, are_times)
            })?;
            groups = groups::group_by_name("platform", &names);
            (metrics, main) = (graphnet::METRICS.to_vec(), graphnet::MAIN);
        }
    }
    let table = ScoreTable {
        metrics: &metrics,
        units: &units,
        groups: &groups.groups,
        totals: &groups.totals,
        seed: options.seed,
        resamples: options.resamples,
    };
    let official = options.is_official(scoring).then(|| OFFICIAL.to_owned());
    let (records, missing) = matched.counts();
    Ok(ScoreReport {
        scoring,
        predictions: matched.predictions.source().to_owned(),
        split: full_name.or(official),
        split_digest: split.as_ref().map(|split| split.digest.clone()),
        split_warning: split.and_then(|split| split.warning),
        part: options.scored_part(scoring).to_owned(),
        variant: options.variant.name().to_owned(),
        seed: options.seed,
        resamples: options.resamples,
        records,
        failed: units.iter().map(|unit| unit.failed).sum(),
        missing,
        invalid: matched.predictions.invalid_count(),
        unused,
        metrics: metrics.iter().map(|one| one.name.to_owned()).collect(),
        main_metrics: main.iter().map(|name| (*name).to_owned()).collect(),
        groups: groups.of.to_owned(),
        rows: table.rows(),
    })
}

/// Computes the unit of each task, on all cores.
fn score_tasks(
    tasks: &[Task],
    unit: impl Fn(usize, &Task) -> ScoreUnit + Sync,
) -> Result<Vec<ScoreUnit>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let unit = &unit;
    thread::scope(|scope| {
        let some = |thread: usize| {
            let own = tasks.iter().enumerate().skip(thread).step_by(threads);
            scope.spawn(move || {
                own.map(|(place, task)| (place, unit(place, task)))
                    .collect()
            })
        };
        let running: Vec<_> = (0..threads).map(some).collect();
        let mut units: Vec<(usize, ScoreUnit)> = Vec::with_capacity(tasks.len());
        for thread in running {
            let own: std::thread::Result<Vec<(usize, ScoreUnit)>> = thread.join();
            let failed = |_| Error::Internal("a scoring thread has panicked".to_owned());
            units.extend(own.map_err(failed)?);
        }
        units.sort_unstable_by_key(|(place, _)| *place);
        Ok(units.into_iter().map(|(_, unit)| unit).collect())
    })
}
