//! What predictions are worth: scored against what was measured, in the table of a paper.
//!
//! ```text
//!  predictions ─▶ by keys ─▶ records ─▶ tasks ─▶ units ─▶ groups ─▶ table, intervals
//!   (a file)     (missing, doubled,   (of a split)  (each predictor)
//!                 unknown: refused)
//! ```
//!
//! * A prediction is of a configuration (`config_key`, the same in every store) and, where records are of several platforms, of a `platform`.
//!   It is a `prediction`, higher for a faster configuration, or a time, `predicted_ns`; errors of labels (`rmse`, `r2`, `mape`) take a
//!   prediction for a label, and a time for the label that it would have beside the best that was measured.
//! * A configuration that was measured several times has a row for each, as upstream.
//! * Beside the predictions stand a random order (its expected value), and what can be reached at most: how the first repeat predicts the mean of
//!   the others, and the first measurement of a configuration the mean of those that were made again.
//! * An interval has 95 % of the scores of tasks that are drawn anew with repetition; all predictors see the same draws.
//! * No number flatters: where predictions are NaN or infinite, the groups with them have no score, and what cannot be ranked (one row, equal
//!   labels, all failed) is left out and counted by its reason.

mod graphnet;
mod groups;
mod ids;
mod indices;
mod matched;
mod networks;
mod options;
mod predictions;
mod report;
mod table;
mod tasks;
mod tenset;
mod tpugraphs;
mod unit;

use options::OFFICIAL;
pub use options::{ScoreOptions, Scoring};
pub use report::{Predictor, Score, ScoreReport, ScoreRow};
pub use tsql_metrics::throughput::Variant;

use std::thread;

use crate::error::{Error, Result};
use crate::store::Store;
use groups::Groups;
use indices::Drawn;
use matched::Matched;
use predictions::Predictions;
use table::Table;
use tasks::{By, Reading, Task, Tasks};
use tenset::Columns;
use unit::{Metric, Unit};

impl Store {
    /// Scores predictions, in the table of `scoring`: a file (Parquet, Arrow, CSV, JSON lines, npz), or a query in parentheses.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use tsql::score::{ScoreOptions, Scoring};
    ///
    /// let store = tsql::Store::demo().await?;
    /// let predicted = "(SELECT DISTINCT c.config_key, r.platform, c.steps_count AS prediction
    ///     FROM (SELECT config_id, config_key, length(steps) AS steps_count FROM configurations) AS c
    ///     JOIN records AS r ON r.config_id = c.config_id)";
    /// let report = store.score(Scoring::Tenset, predicted, &ScoreOptions::default()).await?;
    /// let random = report.rows.iter().find(|row| row.predictor == tsql::score::Predictor::Random);
    /// assert_eq!(report.metrics[2], "pairwise_accuracy");
    /// assert!((random.unwrap().scores[2].value.unwrap() - 0.5).abs() < 0.01);
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Source`] for predictions that cannot be used: a column that is missing or ambiguous, records without a prediction,
    /// predictions that stand there again or are of another store, each with their number; for evaluation indices that are none, or of
    /// graphs that the store lacks. [`Error::Ambiguous`] where no platform is said and
    /// there are several, [`Error::Empty`] where there is nothing to score, [`Error::Query`] for a predicate that is no SQL.
    pub async fn score(
        &self,
        scoring: Scoring,
        predictions: &str,
        options: &ScoreOptions,
    ) -> Result<ScoreReport> {
        let split = match &options.split {
            Some(name) => Some(self.split(name).await?),
            None => None,
        };
        let full_name = split.as_ref().map(|split| split.full_name());
        let context = self.session().await?;
        let mut selection = options.selection(scoring, full_name.as_deref());
        let drawn = Drawn::of(&context, scoring, options).await?;
        if let Some(drawn) = &drawn {
            selection += &format!(" AND {}", drawn.selection());
        }
        let predictions = Predictions::read(&context, predictions).await?;
        let mut matched = Matched::of(&context, predictions, &selection).await?;
        let by = match scoring {
            Scoring::Tenset | Scoring::Tlp => By::Target,
            Scoring::Tpugraphs => By::Source,
            Scoring::Graphnet => By::Graph,
        };
        let reading = Reading {
            selection: &selection,
            drawn: drawn.as_ref(),
            by,
            spares_failed: scoring != Scoring::Graphnet && options.variant == Variant::Valid,
        };
        let tasks = Tasks::read(&context, &mut matched, reading).await?;
        if let Some(drawn) = &drawn {
            drawn.settle(matched.counts().0)?;
        }
        let unused = matched.settle(&context, options.allow_missing).await?;
        let are_times = matched.predictions.are_times();
        let (metrics, main, units, groups): (Vec<Metric>, _, _, Groups);
        match scoring {
            Scoring::Tenset | Scoring::Tlp => {
                let columns = Columns::of(scoring);
                let variant = options.variant;
                units = of_each(&tasks.tasks, |_, task| {
                    tenset::unit(task, &columns, are_times, variant)
                })?;
                groups = groups::of_tasks(&context, &matched, &tasks, scoring).await?;
                (metrics, main) = (columns.metrics, columns.main);
            }
            Scoring::Tpugraphs => {
                let ids = ids::ids(&context).await?;
                let name = |task: &Task| ids.get(&task.key.target).map_or("", String::as_str);
                let names = tasks.tasks.iter().map(name);
                let names = names.map(|id| ids::collection(id).to_owned());
                let names: Vec<String> = names.collect();
                units = of_each(&tasks.tasks, |place, task| {
                    let name = names.get(place).map_or("", String::as_str);
                    tpugraphs::unit(task, name, are_times)
                })?;
                groups = groups::named("collection", &names);
                (metrics, main) = (tpugraphs::METRICS.to_vec(), tpugraphs::MAIN);
            }
            Scoring::Graphnet => {
                let samples = graphnet::samples(&context).await?;
                let name = |task: &Task| matched.platform_name(task.key.platform);
                let names = tasks.tasks.iter().map(name);
                let names: Vec<String> = names
                    .map(|name| name.unwrap_or_default().to_owned())
                    .collect();
                units = of_each(&tasks.tasks, |_, task| {
                    graphnet::unit(task, &samples, are_times)
                })?;
                groups = groups::named("platform", &names);
                (metrics, main) = (graphnet::METRICS.to_vec(), graphnet::MAIN);
            }
        }
        let table = Table {
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
            predictions: matched.predictions.from().to_owned(),
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
            odd: matched.predictions.odd(),
            unused,
            metrics: metrics.iter().map(|one| one.name.to_owned()).collect(),
            main_metrics: main.iter().map(|name| (*name).to_owned()).collect(),
            groups: groups.of.to_owned(),
            rows: table.rows(),
        })
    }
}

/// The unit of each task, by as many threads as the machine has cores.
fn of_each(tasks: &[Task], unit: impl Fn(usize, &Task) -> Unit + Sync) -> Result<Vec<Unit>> {
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
        let mut units: Vec<(usize, Unit)> = Vec::with_capacity(tasks.len());
        for thread in running {
            let own: std::thread::Result<Vec<(usize, Unit)>> = thread.join();
            let failed = |_| Error::Internal("a thread that scores has panicked".to_owned());
            units.extend(own.map_err(failed)?);
        }
        units.sort_unstable_by_key(|(place, _)| *place);
        Ok(units.into_iter().map(|(_, unit)| unit).collect())
    })
}
