//! Splits: each call gives its report as JSON.

use pyo3::prelude::*;
use tsql::splits::{LeakLevel, SplitOptions, SplitUnit};

use crate::errors::raised;
use crate::runtime::wait;
use crate::store::{Store, json};

/// How a split is made, as Python hands it over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Splitting {
    preset: Option<String>,
    unit: Option<String>,
    ratio: Option<String>,
    seed: i64,
    hold_out: Option<String>,
    query: Option<String>,
}

impl Splitting {
    fn options(self) -> tsql::Result<SplitOptions> {
        let mut options = match &self.preset {
            Some(preset) => SplitOptions::preset(preset)?,
            None => SplitOptions::default(),
        };
        if let Some(unit) = &self.unit {
            options = options.unit(SplitUnit::parse(unit)?);
        }
        if let Some(ratio) = self.ratio {
            options = options.ratio(ratio);
        }
        if let Some(sql) = self.hold_out {
            options = options.hold_out(sql);
        }
        if let Some(sql) = self.query {
            options = options.query(sql);
        }
        Ok(options.seed(self.seed))
    }
}

#[pymethods]
impl Store {
    fn create_split(&self, py: Python<'_>, name: String, how: Splitting) -> PyResult<String> {
        let options = how.options().map_err(|error| raised(py, &error))?;
        let store = self.get(py)?;
        let call = move || async move { store.create_split(&name, &options).await };
        json(py, &wait(py, call)?)
    }

    fn check_split(&self, py: Python<'_>, name: String, level: Option<String>) -> PyResult<String> {
        let level = level.as_deref().map(LeakLevel::parse).transpose();
        let level = level.map_err(|error| raised(py, &error))?;
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

    /// All splits, as JSON.
    fn splits(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(py, &wait(py, move || async move { store.splits().await })?)
    }
}
