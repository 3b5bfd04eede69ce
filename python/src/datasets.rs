//! Dataset-specific scores and exports; checks of locations and workers.

use std::fs::File;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use serde::Serialize;
use tsql::atomic_output::create_output;
use tsql::auto_scheduler;
use tsql::graphnet::{HubOptions, export_hub};
use tsql::metaschedule::{DatabaseOptions, export_databases};
use tsql::optional_setting::OptionalSetting as _;
use tsql::tpugraphs::{SubmissionScore, score_submission, write_submission};

use crate::errors::to_py_err;
use crate::runtime::wait;
use crate::store::{Store, json, with_credentials};

/// JSON report of a row of a submission.
#[derive(Serialize)]
struct Row {
    line: u64,
    id: String,
    score: Option<f64>,
    problem: Option<String>,
}

/// JSON report of a collection of a submission.
#[derive(Serialize)]
struct Collection {
    collection: String,
    score: f64,
    rows: u64,
}

/// JSON report of a submission.
#[derive(Serialize)]
struct Submission {
    score: Option<f64>,
    collections: Vec<Collection>,
    rows: Vec<Row>,
}

impl From<SubmissionScore> for Submission {
    fn from(scored: SubmissionScore) -> Self {
        let collections = scored.collections.into_iter();
        let rows = scored.rows.into_iter();
        Self {
            score: scored.score,
            collections: collections
                .map(|(collection, (score, rows))| Collection {
                    collection,
                    score,
                    rows,
                })
                .collect(),
            rows: rows
                .map(|row| Row {
                    line: row.line,
                    id: row.id,
                    score: row.score.clone().ok(),
                    problem: row.score.err(),
                })
                .collect(),
        }
    }
}

/// Writes a file atomically.
async fn write_whole_file<T>(
    path: &Path,
    write: impl AsyncFnOnce(&mut File) -> tsql::Result<T>,
) -> tsql::Result<T> {
    let (output, mut file) = create_output(path)?;
    let written = write(&mut file).await?;
    output.finish()?;
    Ok(written)
}

#[pymethods]
impl Store {
    /// Scores a submission of TpuGraphs; returns JSON.
    fn score_submission(&self, py: Python<'_>, path: PathBuf) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move { score_submission(&store, &path).await };
        json(py, &Submission::from(wait(py, call)?))
    }

    /// Writes a submission from predictions; returns its number of rows.
    fn write_submission(
        &self,
        py: Python<'_>,
        predictions: String,
        path: PathBuf,
    ) -> PyResult<u64> {
        let store = self.get(py)?;
        let call = move || async move {
            write_whole_file(&path, async |out| {
                write_submission(&store, &predictions, out).await
            })
            .await
        };
        wait(py, call)
    }

    /// Writes records as lines that TVM loads; returns their number.
    fn export_lines(&self, py: Python<'_>, predicate: String, path: PathBuf) -> PyResult<u64> {
        let store = self.get(py)?;
        let call = move || async move {
            write_whole_file(&path, async |out| {
                auto_scheduler::export_lines(&store, &predicate, out).await
            })
            .await
        };
        wait(py, call)
    }

    /// Writes records as databases of `MetaSchedule` into a folder; returns the report as JSON.
    fn export_databases(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        predicate: Option<String>,
        overwrite: bool,
    ) -> PyResult<String> {
        let options = DatabaseOptions::default()
            .overwrite(overwrite)
            .set_if(predicate, DatabaseOptions::predicate);
        let store = self.get(py)?;
        let call = move || async move { export_databases(&store, &folder, &options).await };
        json(py, &wait(py, call)?)
    }

    /// Returns SQL of `DuckDB` views of the tables as tsql shows them.
    fn duckdb_views(&self, py: Python<'_>) -> PyResult<String> {
        let views = self.get(py)?.duckdb_views();
        views.map_err(|error| to_py_err(py, &error))
    }

    /// Writes samples as the Parquet file of GraphNet's hub; returns the report as JSON.
    fn export_hub(
        &self,
        py: Python<'_>,
        samples: Option<String>,
        path: PathBuf,
    ) -> PyResult<String> {
        let options = HubOptions::default().set_if(samples, HubOptions::samples);
        let store = self.get(py)?;
        let call = move || async move {
            write_whole_file(&path, async |out| export_hub(&store, &options, out).await).await
        };
        json(py, &wait(py, call)?)
    }
}

/// JSON report of a requirement of commits on a location.
#[derive(Serialize)]
struct Probe {
    check: &'static str,
    problem: Option<String>,
}

/// Checks the requirements of commits on a location; returns JSON, `null` for a local disk, which meets them.
#[pyfunction]
pub(crate) fn probe(py: Python<'_>, location: String) -> PyResult<String> {
    let probed = wait(py, move || async move {
        Ok(tsql::Location::open(&location).await?.probe().await)
    })?;
    let told = probed.map(|probed| {
        let each = probed.into_iter().map(|one| Probe {
            check: one.name,
            problem: one.problem,
        });
        each.collect::<Vec<_>>()
    });
    json(py, &told)
}

/// Returns the status of each worker, or an error, as JSON.
#[pyfunction]
pub(crate) fn workers(py: Python<'_>, addresses: &str) -> PyResult<String> {
    let workers = with_credentials(py, addresses)?;
    let told = wait(py, move || async move { workers.status().await })?;
    let told: Vec<(String, Option<_>, Option<String>)> = told
        .into_iter()
        .map(|(url, status)| match status {
            Ok(status) => (url.to_string(), Some(status), None),
            Err(reason) => (url.to_string(), None, Some(reason)),
        })
        .collect();
    json(py, &told)
}
