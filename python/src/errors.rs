//! Raises the exceptions of `tsql.errors`, which is written in Python: one class for each kind of error of the
//! library.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tsql::Error;

/// Converts an error of the library to an exception. `Error::Interrupted` becomes `KeyboardInterrupt`.
pub(crate) fn to_py_err(py: Python<'_>, error: &Error) -> PyErr {
    if matches!(error, Error::Interrupted) {
        return pyo3::exceptions::PyKeyboardInterrupt::new_err(error.to_string());
    }
    try_to_py_err(py, error).unwrap_or_else(|failed| failed)
}

/// Error for an invalid argument.
pub(crate) fn argument_error(
    py: Python<'_>,
    name: &'static str,
    reason: impl Into<String>,
) -> PyErr {
    let reason = reason.into();
    to_py_err(py, &Error::Argument { name, reason })
}

/// Error for an object that is closed, or in use by another thread, with a message.
pub(crate) fn closed_error(py: Python<'_>, message: &str) -> PyErr {
    let about = PyDict::new(py);
    exception_of_kind(py, Error::Closed.kind(), message, &about).unwrap_or_else(|failed| failed)
}

fn try_to_py_err(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    exception_of_kind(
        py,
        error.kind(),
        &error.to_string(),
        &error_attributes(py, error)?,
    )
}

fn exception_of_kind(
    py: Python<'_>,
    kind: &str,
    message: &str,
    about: &Bound<'_, PyDict>,
) -> PyResult<PyErr> {
    let made = py.import("tsql.errors")?.getattr("of_library")?;
    let error = made.call((kind, message), Some(about))?;
    Ok(PyErr::from_value(error))
}

/// Returns the attributes of an error.
fn error_attributes<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    match error {
        Error::NotAStore { location, .. }
        | Error::Foreign { location, .. }
        | Error::CannotCreate { location, .. }
        | Error::Source { location, .. } => about.set_item("location", location)?,
        Error::Unknown { kind, name, known } => {
            about.set_item("name_kind", kind)?;
            about.set_item("name", name)?;
            about.set_item("known_names", known.split(", ").collect::<Vec<_>>())?;
        }
        Error::Argument { name, .. } => about.set_item("name", name)?,
        Error::Sql(mistake) => {
            if let Some(span) = &mistake.span {
                about.set_item("line", span.line)?;
                about.set_item("column", span.column)?;
            }
        }
        Error::Rejected { path, line, .. } => {
            about.set_item("path", path)?;
            about.set_item("line", line)?;
        }
        Error::Io { path, .. } => about.set_item("path", path)?,
        Error::Damaged { table, .. } | Error::Contended { table, .. } => {
            about.set_item("table", table)?;
        }
        _ => {}
    }
    Ok(about)
}
