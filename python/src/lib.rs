//! `tsql._native`: the native part of the Python package `tsql`. The package's own modules define the public
//! interface: names, types, docstrings and conversions that need other packages.

mod append;
mod arrow;
mod buffer;
mod columns;
mod datasets;
mod errors;
mod facts;
mod features;
mod forks;
#[cfg(target_os = "linux")]
mod measuring;
mod messages;
mod platforms;
mod plot;
mod progress;
mod result;
mod rows;
mod runtime;
mod scores;
mod splitting;
mod store;
mod training;
mod training_files;
mod ui;
mod values;
mod views;
mod writing;

use pyo3::prelude::*;

/// The extension module.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::append::Appending;
    #[pymodule_export]
    use crate::arrow::write_arrow;
    #[pymodule_export]
    use crate::buffer::Buffer;
    #[pymodule_export]
    use crate::datasets::{probe, workers};
    #[pymodule_export]
    use crate::facts::{
        command, describe, ends_with_session, functions, numbered, other_tables, size_bytes,
        tables, verify, version, write_file,
    };
    #[pymodule_export]
    use crate::forks::{after_fork, after_fork_in_child, before_fork};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::measuring::{
        Recorder, devices, doctor, machine, platform, templates, time_calls, time_launches,
    };
    #[pymodule_export]
    use crate::plot::RenderedPlot;
    #[pymodule_export]
    use crate::result::{Batch, QueryResult};
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::training::{GraphLoader, GraphSteps, RowLoader, RowSteps};
    #[pymodule_export]
    use crate::ui::Serving;
}
