//! Splits: each call returns its report as JSON.

use pyo3::prelude::*;
use tsql::splits::{LeakLevel, SplitRequest};

use crate::errors::to_py_err;
use crate::runtime::wait;
use crate::store::{Store, json};

/// Options of a split, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SplitArgs {
    preset: Option<String>,
    unit: Option<String>,
    ratio: Option<String>,
    seed: i64,
    hold_out: Option<String>,
    query: Option<String>,
}

impl From<SplitArgs> for SplitRequest {
    fn from(how: SplitArgs) -> Self {
        Self {
            preset: how.preset,
            unit: how.unit,
            ratio: how.ratio,
            seed: how.seed,
            hold_out: how.hold_out,
            query: how.query,
        }
    }
}

#[pymethods]
impl Store {
    fn create_split(&self, py: Python<'_>, name: String, how: SplitArgs) -> PyResult<String> {
        let options = SplitRequest::from(how)
            .options()
            .map_err(|error| to_py_err(py, &error))?;
        let store = self.get(py)?;
        let call = move || async move { store.create_split(&name, &options).await };
        json(py, &wait(py, call)?)
    }

    fn check_split(&self, py: Python<'_>, name: String, level: Option<String>) -> PyResult<String> {
        let level = level.as_deref().map(LeakLevel::parse).transpose();
        let level = level.map_err(|error| to_py_err(py, &error))?;
        let store = self.get(py)?;
        let call = move || async move { store.check_split(&name, level).await };
        json(py, &wait(py, call)?)
    }

    fn parts_of_split(&self, py: Python<'_>, name: String) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move { store.parts_of_split(&name).await };
        json(py, &wait(py, call)?)
    }

    fn drop_split(&self, py: Python<'_>, name: String) -> PyResult<u64> {
        let store = self.get(py)?;
        wait(py, move || async move { store.drop_split(&name).await })
    }

    /// Returns all splits, as JSON.
    fn splits(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(py, &wait(py, move || async move { store.splits().await })?)
    }
}
