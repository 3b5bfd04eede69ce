//! The page on which a store is asked, served while the program goes on.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;
use tokio::sync::oneshot::{self, Sender};
use tsql::ui::{Ui, UiOptions};

use crate::runtime::{runtime, wait};
use crate::store::Store;

/// A page that is served.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Serving {
    #[pyo3(get)]
    url: String,
    /// `None` when it was closed.
    stop: Mutex<Option<(u32, Sender<()>, thread::JoinHandle<()>)>>,
}

#[pymethods]
impl Serving {
    fn close(&self, py: Python<'_>) {
        let stop = self
            .stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A forked process has the handle, and not the threads.
        if let Some((process, stop, served)) = stop
            && process == process::id()
        {
            let _ = stop.send(());
            let _ = py.detach(|| served.join());
        }
    }
}

#[pymethods]
impl Store {
    /// Serves a page on which the store is asked.
    fn ui(&self, py: Python<'_>, port: u16, name: String, files: bool) -> PyResult<Serving> {
        let store = self.get(py)?;
        let options = UiOptions::default()
            .port(port)
            .name(name)
            .files(files)
            .session(self.options());
        let ui = wait(py, move || Ui::start(store, options))?;
        let url = ui.url().to_owned();
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = runtime()?;
        let served = thread::Builder::new()
            .name("tsql ui".to_owned())
            .spawn(move || {
                let stopped = async {
                    let _ = stopped.await;
                };
                let _ = runtime.block_on(ui.serve(stopped));
            })?;
        Ok(Serving {
            url,
            stop: Mutex::new(Some((process::id(), stop, served))),
        })
    }
}
