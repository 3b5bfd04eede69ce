//! Serves the web interface of a store in the background.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;
use tokio::sync::oneshot::{self, Sender};
use tsql::ui::{Ui, UiOptions};

use crate::runtime::{runtime, wait};
use crate::store::Store;

/// A running web interface.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Serving {
    #[pyo3(get)]
    url: String,
    /// `None` once it was closed.
    served: Mutex<Option<ServerThread>>,
}

/// The server thread, its stop signal, and its process.
struct ServerThread {
    process: u32,
    stop: Sender<()>,
    thread: thread::JoinHandle<()>,
}

#[pymethods]
impl Serving {
    fn close(&self, py: Python<'_>) {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let served = served.take();
        // A forked process has the handle, but not the threads.
        if let Some(served) = served.filter(|served| served.process == process::id()) {
            let _ = served.stop.send(());
            let _ = py.detach(|| served.thread.join());
        }
    }
}

#[pymethods]
impl Store {
    /// Serves the web interface of the store.
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
        let thread = thread::Builder::new()
            .name("tsql ui".to_owned())
            .spawn(move || {
                let stopped = async {
                    let _ = stopped.await;
                };
                let _ = runtime.block_on(ui.serve(stopped));
            })?;
        Ok(Serving {
            url,
            served: Mutex::new(Some(ServerThread {
                process: process::id(),
                stop,
                thread,
            })),
        })
    }
}
