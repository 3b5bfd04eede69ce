//! Training files: options are passed as JSON in the form of a manifest, and a manifest is returned.

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use tsql::tpugraphs::{GraphFilesOptions, verify_graph_files, write_graph_files};
use tsql::training::TrainingFilesOptions;

use crate::errors::argument_error;
use crate::runtime::wait;
use crate::store::{Store, json};

fn options<T: DeserializeOwned>(py: Python<'_>, how: &str) -> PyResult<T> {
    serde_json::from_str(how).map_err(|error| argument_error(py, "options", error.to_string()))
}

#[pymethods]
impl Store {
    fn write_training_files(
        &self,
        py: Python<'_>,
        to: String,
        how: &str,
        overwrite: bool,
    ) -> PyResult<String> {
        let mut options: TrainingFilesOptions = options(py, how)?;
        if let Some(bytes) = self.memory_limit {
            options = options.memory_limit_bytes(bytes);
        }
        let (store, options) = (self.get(py)?, options.overwrite(overwrite));
        let call = move || async move { store.write_training_files(&to, &options).await };
        json(py, &wait(py, call)?)
    }

    fn write_graph_files(
        &self,
        py: Python<'_>,
        to: String,
        how: &str,
        overwrite: bool,
    ) -> PyResult<String> {
        let options: GraphFilesOptions = options(py, how)?;
        let (store, options) = (self.get(py)?, options.overwrite(overwrite));
        let call = move || async move { write_graph_files(&store, &to, &options).await };
        json(py, &wait(py, call)?)
    }

    fn verify_training_files(&self, py: Python<'_>, manifest: String) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move { verify_graph_files(&store, &manifest).await };
        json(py, &wait(py, call)?)
    }
}
