//! Imports features of other programs.

use pyo3::prelude::*;
use tsql::features::FeaturesOptions;
use tsql::optional_setting::OptionalSetting as _;

use crate::runtime::wait;
use crate::store::{Store, json};

#[pymethods]
impl Store {
    /// Imports features; returns the report as JSON.
    fn import_features(
        &self,
        py: Python<'_>,
        source: String,
        name: &str,
        version: Option<i64>,
        column: Option<String>,
    ) -> PyResult<String> {
        let options = FeaturesOptions::new(name)
            .set_if(version, FeaturesOptions::version)
            .set_if(column, FeaturesOptions::column);
        let store = self.get(py)?;
        let call = move || async move { store.import_features(&source, &options).await };
        json(py, &wait(py, call)?)
    }
}
