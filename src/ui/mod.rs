//! A page on which a store is asked: a small server for one user of this machine.
//!
//! ```text
//!  browser ─▶ gate ─▶ routes ─▶ a thread that plans ─▶ rows ─▶ disk ─▶ windows, sorted or drawn
//!             │ own host, own page, secret                   └ lines: how far it is
//!             └ 403                                             nobody reads them: the question ends
//! ```
//!
//! - It listens on 127.0.0.1 alone, answers only who brings its secret, and only its own page: see `gate`.
//! - It only reads: see `query::reading`. Files of the machine are not read unless it was told to.
//! - An answer's rows go to the disk as they come, so that it may have any length; the page asks for some at a time.
//!
//! ```
//! use tsql::{Store, ui::{Ui, UiOptions}};
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! let ui = Ui::start(Store::demo().await?, UiOptions::default()).await?;
//! assert!(ui.url().starts_with("http://127.0.0.1:") && ui.url().contains("/?token="));
//! ui.serve(async { /* until this is ready */ }).await?;
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod answers;
mod asking;
mod catalog;
mod computing;
mod files;
mod gate;
mod kept;
mod news;
mod options;
mod pictures;
mod routes;
mod served;
mod sorting;
mod told;
mod windows;

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use options::UiOptions;

use crate::error::{Error, Result};
use crate::store::Store;
use gate::Gate;
use served::Served;

/// A page that is served.
pub struct Ui {
    listener: TcpListener,
    router: Router,
    url: String,
}

impl std::fmt::Debug for Ui {
    /// Without its address, which is a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Ui");
        shown
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl Ui {
    /// Listens on 127.0.0.1. Nothing is answered before [`Ui::serve`].
    ///
    /// # Errors
    /// [`Error::Argument`] where it cannot listen there, [`Error::Io`] where there is no room for answers.
    pub async fn start(store: Store, options: UiOptions) -> Result<Self> {
        let port = options.port;
        let refused = |error: std::io::Error| Error::Argument {
            name: "port",
            reason: format!("127.0.0.1:{port}: {error}\nhint: port 0 takes a free one"),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let gate = Arc::new(Gate::new(port)?);
        let url = gate.url();
        let served = Arc::new(Served::new(store, options)?);
        Ok(Self {
            listener,
            router: routes::router(served, gate),
            url,
        })
    }

    /// The address to open. It is a secret: it lets in.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Answers until `stop` is ready; what runs is ended then.
    ///
    /// # Errors
    /// None that a single request meets.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<()> {
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let stream = tokio::select! {
                () = &mut stop => return Ok(()),
                // Whoever has ended makes room.
                Some(_) = connections.join_next() => continue,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // Too many files are open, say: the next may be taken.
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
