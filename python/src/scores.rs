//! Scores of predictions.

use std::path::PathBuf;

use pyo3::prelude::*;
use tsql::optional_setting::OptionalSetting as _;
use tsql::replay::{Policy, ReplayAxis, ReplayOptions, Scheduler};
use tsql::score::{ScoreOptions, Scoring, Variant};

use crate::errors::{argument_error, to_py_err};
use crate::runtime::wait;
use crate::store::{Store, json};

/// Width of a PNG file in pixels.
const PICTURE_WIDTH: u32 = 1600;

/// Options of a replay, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ReplayArgs {
    policies: Vec<String>,
    predictions: Option<String>,
    exhaustive: bool,
    allow_missing: bool,
    epsilon: f64,
    predicate: Option<String>,
    draws: Vec<usize>,
    within: f64,
    probability: f64,
    seeds: u32,
    seed: u64,
    network: Option<String>,
    scheduler: String,
    round: usize,
    plot: Option<PathBuf>,
    against: String,
}

/// Options of a score, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ScoreArgs {
    split: Option<String>,
    part: Option<String>,
    predicate: Option<String>,
    variant: String,
    evaluation_indices: Option<PathBuf>,
    allow_missing: bool,
    seed: u64,
    resamples: u32,
}

impl ScoreArgs {
    fn options(self, py: Python<'_>) -> PyResult<ScoreOptions> {
        let variant = Variant::from_name(&self.variant).ok_or_else(|| {
            let reason = format!("no variant `{}`, expected tenset or valid", self.variant);
            argument_error(py, "variant", &reason)
        })?;
        Ok(ScoreOptions::default()
            .variant(variant)
            .allow_missing(self.allow_missing)
            .seed(self.seed)
            .resamples(self.resamples)
            .set_if(self.split, ScoreOptions::split)
            .set_if(self.part, ScoreOptions::part)
            .set_if(self.predicate, ScoreOptions::predicate)
            .set_if(self.evaluation_indices, ScoreOptions::evaluation_indices))
    }
}

fn scoring(py: Python<'_>, dataset: &str) -> PyResult<Scoring> {
    Scoring::from_name(dataset).ok_or_else(|| {
        let reason =
            format!("no scores for `{dataset}`\nhint: there are tenset, tlp, tpugraphs, graphnet");
        argument_error(py, "dataset", &reason)
    })
}

#[pymethods]
impl Store {
    /// Scores predictions with the metrics of a dataset; returns the report as JSON.
    fn score(
        &self,
        py: Python<'_>,
        dataset: &str,
        predictions: String,
        how: ScoreArgs,
    ) -> PyResult<String> {
        let scoring = scoring(py, dataset)?;
        let options = how.options(py)?;
        let store = self.get(py)?;
        let call = move || async move { store.score(scoring, &predictions, &options).await };
        json(py, &wait(py, call)?)
    }

    /// Scores models, names with predictions, on each platform; returns the matrix as JSON.
    fn score_matrix(
        &self,
        py: Python<'_>,
        dataset: &str,
        models: Vec<(String, String)>,
        how: ScoreArgs,
        plot: Option<(PathBuf, Option<String>)>,
    ) -> PyResult<String> {
        let scoring = scoring(py, dataset)?;
        let options = how.options(py)?;
        let store = self.get(py)?;
        let matrix = wait(py, move || async move {
            let matrix = store.score_matrix(scoring, &models, &options).await?;
            if let Some((path, metric)) = plot {
                matrix.draw(metric.as_deref(), &path, PICTURE_WIDTH)?;
            }
            Ok(matrix)
        })?;
        json(py, &matrix)
    }

    /// Replays searches; a plot is drawn if a path is given. Returns the report as JSON.
    fn replay(&self, py: Python<'_>, how: ReplayArgs) -> PyResult<String> {
        let axis = ReplayAxis::from_name(&how.against).ok_or_else(|| {
            let reason = format!("no axis `{}`, expected draws or seconds", how.against);
            argument_error(py, "against", &reason)
        })?;
        let policies: Result<Vec<Policy>, _> =
            how.policies.iter().map(|policy| policy.parse()).collect();
        let policies = policies.map_err(|error| to_py_err(py, &error))?;
        let scheduler: Result<Scheduler, _> = how.scheduler.parse();
        let scheduler = scheduler.map_err(|error| to_py_err(py, &error))?;
        let options = ReplayOptions::default()
            .policies(policies)
            .exhaustive(how.exhaustive)
            .allow_missing(how.allow_missing)
            .epsilon(how.epsilon)
            .draws(how.draws)
            .within(how.within)
            .probability(how.probability)
            .seeds(how.seeds)
            .seed(how.seed)
            .scheduler(scheduler)
            .round(how.round)
            .set_if(how.predictions, ReplayOptions::predictions)
            .set_if(how.predicate, ReplayOptions::predicate)
            .set_if(how.network, ReplayOptions::network);
        let store = self.get(py)?;
        let path = how.plot;
        let found = wait(py, move || async move {
            let found = store.replay(&options).await?;
            if let Some(path) = path {
                found.draw(&path, axis, PICTURE_WIDTH)?;
            }
            Ok(found)
        })?;
        json(py, &found)
    }
}
