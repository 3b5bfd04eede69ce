//! Plots of results.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tsql::plot::{Appearance, Chart, PlotSize, PlotSpec, Theme};

use crate::errors::argument_error;
use crate::result::QueryResult;
use crate::runtime::wait;
use crate::store::Store;

/// A plot of a result.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct RenderedPlot(Chart);

fn parse_look(py: Python<'_>, theme: &str, size: &str) -> PyResult<Appearance> {
    let theme = match theme {
        "light" => Theme::Light,
        "dark" => Theme::Dark,
        _ => {
            return Err(argument_error(
                py,
                "theme",
                "expected light or dark".to_owned(),
            ));
        }
    };
    let sides = size.split_once('x');
    let sides = sides.and_then(|(width, height)| width.parse().ok().zip(height.parse().ok()));
    let size = match (size, sides) {
        ("column", _) => PlotSize::Column,
        ("slide", _) => PlotSize::Slide,
        (_, Some((width, height))) => PlotSize::Units { width, height },
        _ => {
            let reason = "expected column, slide or WIDTHxHEIGHT".to_owned();
            return Err(argument_error(py, "size", reason));
        }
    };
    Ok(Appearance { theme, size })
}

#[pymethods]
impl RenderedPlot {
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    fn svg(&self, py: Python<'_>, theme: &str, size: &str) -> PyResult<String> {
        let look = parse_look(py, theme, size)?;
        Ok(py.detach(|| self.0.svg(look)))
    }

    fn png<'py>(
        &self,
        py: Python<'py>,
        theme: &str,
        size: &str,
        width: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let look = parse_look(py, theme, size)?;
        let drawn = py.detach(|| self.0.png(look, width));
        let drawn = drawn.map_err(|reason| argument_error(py, "width", reason))?;
        Ok(PyBytes::new(py, &drawn))
    }

    fn html(&self, py: Python<'_>, size: &str, sql: &str) -> PyResult<String> {
        let look = parse_look(py, "light", size)?;
        Ok(py.detach(|| tsql::plot::html_document(&self.0, look, sql)))
    }

    fn text(&self, columns: usize, lines: usize) -> String {
        self.0.text(columns, lines, false)
    }
}

#[pymethods]
impl QueryResult {
    /// Plots the result, which can still be read. `spec` is as in `-- plot:` lines of queries.
    fn plot(&self, py: Python<'_>, spec: &str) -> PyResult<RenderedPlot> {
        let spec: PlotSpec = spec
            .parse()
            .map_err(|reason| argument_error(py, "plot", reason))?;
        let frame = self.frame();
        let chart = wait(
            py,
            move || async move { tsql::plot::chart(frame, &spec).await },
        )?;
        Ok(RenderedPlot(chart))
    }
}

#[pymethods]
impl Store {
    /// Returns the HTML report of the store.
    fn page(&self, py: Python<'_>, name: String) -> PyResult<String> {
        let store = self.get(py)?;
        wait(py, move || async move { store.html_report(&name).await })
    }
}
