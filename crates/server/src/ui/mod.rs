//! Web interface for queries on a store: a small server for one user of this machine.
//!
//! ```text
//!  browser ─▶ gate ─▶ routes ─▶ a planning thread ─▶ rows ─▶ disk ─▶ windows, sorted or plotted
//!             │ own host, own page, secret               └ lines: progress
//!             └ 403                                        without a client the query is cancelled
//! ```
//!
//! - The server listens on 127.0.0.1 only, and accepts only requests with its secret from its own page: see `gate`.
//! - Queries are read-only. They cannot read files of the machine unless this is enabled.
//! - Result rows go to disk as they arrive, so that a result may have any length. The page requests some at a time.
//!
//! ```
//! use tsql_server::ui::Ui;
//! use tsql_server::ui::UiOptions;
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! let ui = Ui::start(tsql_dataset::demo::create_demo().await?, UiOptions::default()).await?;
//! assert!(ui.url().starts_with("http://127.0.0.1:") && ui.url().contains("/?token="));
//! ui.serve(async { /* until this is ready */ }).await?;
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod app_state;
mod catalog;
mod charts;
mod error_body;
mod files;
mod gate;
mod live_updates;
mod options;
mod query_stream;
mod result_file;
mod results;
mod routes;
mod sorting;
mod windows;

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tsql_error::{Error, Result};
use tsql_store::Store;

use app_state::AppState;
use gate::AccessControl;

pub use options::UiOptions;

/// The server of the web interface.
pub struct Ui {
    listener: TcpListener,
    router: Router,
    url: String,
}

impl std::fmt::Debug for Ui {
    /// Omits the address, which is a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Ui");
        shown
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl Ui {
    /// Listens on 127.0.0.1. Requests are served only by [`Ui::serve`].
    ///
    /// # Errors
    /// [`Error::Argument`] if it cannot listen there, [`Error::Io`] if the folder for results cannot be created.
    pub async fn start(store: impl Into<Store>, options: UiOptions) -> Result<Self> {
        let store = store.into();
        let port = options.port;
        let refused = |error: std::io::Error| Error::Argument {
            name: "port",
            reason: format!(
                "cannot listen on `127.0.0.1:{port}`: {error}\nhint: port 0 selects a free port"
            ),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let gate = Arc::new(AccessControl::new(port)?);
        let url = gate.url();
        let served = Arc::new(AppState::new(store, options)?);
        Ok(Self {
            listener,
            router: routes::router(served, gate),
            url,
        })
    }

    /// Address to open. It is a secret that grants access.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves requests until `stop` is ready; running queries are then cancelled.
    ///
    /// # Errors
    /// None caused by a single request.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<()> {
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let stream = tokio::select! {
                () = &mut stop => return Ok(()),
                // A finished connection makes space for another one.
                Some(_) = connections.join_next() => continue,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // For instance too many open files; a later connection may succeed.
                    Err(_) => {
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        continue;
                    }
                },
            };
            let _ = stream.set_nodelay(true);
            let service = TowerToHyperService::new(self.router.clone());
            connections.spawn(async move {
                let mut server = http1::Builder::new();
                let served = server
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service);
                let _ = served.await;
            });
        }
    }
}
