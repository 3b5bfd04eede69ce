//! Facts about platforms: each call returns its report as JSON.

use pyo3::prelude::*;
use tsql::platforms;

use crate::runtime::wait;
use crate::store::{Store, json};

#[pymethods]
impl Store {
    fn set_platform(
        &self,
        py: Python<'_>,
        platform: String,
        values: Vec<(String, String)>,
        source: String,
        author: Option<String>,
    ) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move {
            let author = author.as_deref();
            platforms::set_facts(&store, &platform, &values, &source, author).await
        };
        json(py, &wait(py, call)?)
    }

    fn platform_facts(&self, py: Python<'_>, platform: String) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move { platforms::platform_facts(&store, &platform).await };
        json(py, &wait(py, call)?)
    }

    fn unset_platform(&self, py: Python<'_>, platform: String, fact: String) -> PyResult<()> {
        let store = self.get(py)?;
        wait(py, move || async move {
            platforms::unset_fact(&store, &platform, &fact).await
        })
    }
}
