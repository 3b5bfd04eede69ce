//! Scores of predictions.

use std::path::PathBuf;

use pyo3::prelude::*;
use tsql::optional_setting::OptionalSetting as _;
use tsql::score::{ScoreOptions, Scoring, Variant};

use crate::errors::argument_error;
use crate::runtime::wait;
use crate::store::{Store, json};

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
        let scoring = Scoring::from_name(dataset).ok_or_else(|| {
            let reason = format!(
                "no scores for `{dataset}`\nhint: there are tenset, tlp, tpugraphs, graphnet"
            );
            argument_error(py, "dataset", &reason)
        })?;
        let variant = Variant::from_name(&how.variant).ok_or_else(|| {
            let reason = format!("no variant `{}`, expected tenset or valid", how.variant);
            argument_error(py, "variant", &reason)
        })?;
        let options = ScoreOptions::default()
            .variant(variant)
            .allow_missing(how.allow_missing)
            .seed(how.seed)
            .resamples(how.resamples)
            .set_if(how.split, ScoreOptions::split)
            .set_if(how.part, ScoreOptions::part)
            .set_if(how.predicate, ScoreOptions::predicate)
            .set_if(how.evaluation_indices, ScoreOptions::evaluation_indices);
        let store = self.get(py)?;
        let call = move || async move { store.score(scoring, &predictions, &options).await };
        json(py, &wait(py, call)?)
    }
}
