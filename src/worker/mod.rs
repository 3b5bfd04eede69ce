//! A worker: runs parts of questions that other machines have planned.
//!
//! ```text
//!  connection ─▶ gate ─▶ plan is decoded ─▶ looked at, readers put in ─▶ runs ─▶ rows
//!                │ token, stopping, counts   (plans: known nodes, files      │
//!                │                            of the pinned versions only)   │
//!                └ /health /status /metrics          stops with its question ◀┘ (question)
//! ```
//!
//! It serves the stores that it was started with, read with its own credentials, and nothing else: a plan names a
//! store by its identity and tables by their versions, and each file of a plan must be one of those. There are no
//! sinks. Memory is shared by all that runs, and what does not fit goes to temporary files.

mod counters;
mod gate;
mod panics;
mod plans;
mod question;
mod served;
#[cfg(test)]
mod tests;
#[cfg(any(test, fuzzing))]
pub(crate) mod tried;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use datafusion_distributed::Worker as Engine;
use futures::FutureExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::cluster::{Connections, GONE, QUIET, Security, speaking};
use crate::error::{Error, Result};
use crate::store::Store;
use counters::Counters;
use gate::Gate;
use question::Questions;
use served::ServedStores;

/// How long streams may take to end when all is done.
const ENDED: Duration = Duration::from_secs(1);

/// How a worker is started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerOptions {
    listen: String,
    security: Security,
    memory_limit_bytes: Option<usize>,
    deadline: Duration,
    grace: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7700".to_owned(),
            security: Security::none(),
            memory_limit_bytes: None,
            deadline: Duration::from_secs(600),
            grace: Duration::from_secs(30),
        }
    }
}

impl WorkerOptions {
    /// Address and port; those of this machine only unless it is set. Port 0 takes a free one.
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// What it wants to see of whoever asks it, and shows other workers.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Memory that all it runs may take for joins, sorts and groups, in bytes; more goes to temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// How long a question may run here; ten minutes unless it is set.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How long what runs may go on when the worker is to stop; half a minute unless it is set.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

/// A worker that listens.
pub struct Worker {
    listener: TcpListener,
    address: SocketAddr,
    gate: Gate,
    engine: Engine,
    options: WorkerOptions,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Worker");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// Listens for questions about these stores. Takes none before [`Worker::serve`].
    ///
    /// # Errors
    /// [`Error::Argument`] where others could ask it without showing who they are, or it cannot listen there.
    pub async fn start(stores: Vec<Store>, options: WorkerOptions) -> Result<Self> {
        let refused = |reason: String| Error::Argument {
            name: "listen",
            reason,
        };
        let listener = TcpListener::bind(&options.listen).await;
        let listener =
            listener.map_err(|error| refused(format!("`{}`: {error}", options.listen)))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| refused(error.to_string()))?;
        if !address.ip().is_loopback() && !options.security.keeps_strangers_out() {
            return Err(refused(format!(
                "{address} can be reached by others, who could read the stores\nhint: a token \
                 (TSQL_TOKEN, TSQL_TOKEN_FILE), or certificates of both sides (--tls-cert, --tls-key, --tls-ca)"
            )));
        }
        let (runtime, spilled) = crate::query::runtime(options.memory_limit_bytes)?;
        let stores = Arc::new(ServedStores::new(stores)?);
        let questions = Questions::new(options.deadline);
        let counters = Arc::new(Counters::new(
            crate::query::version(),
            stores.shown(),
            Arc::clone(&runtime),
            options.memory_limit_bytes,
        ));
        let sessions = plans::Sessions {
            stores,
            questions: questions.clone(),
            connections: Connections::new(options.security.clone()),
            memory_limit_bytes: options.memory_limit_bytes,
            spilled: spilled.map(Arc::new),
        };
        let engine = Engine::from_session_builder(sessions).with_runtime_env(runtime);
        let gate = Gate::new(options.security.clone(), questions, counters);
        Ok(Self {
            listener,
            address,
            gate,
            engine,
            options,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes questions until `stop` is ready; then none, and ends when those that run are done, or their time is
    /// over.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot go on listening.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let failed = |source: std::io::Error| Error::Io {
            path: self.address.to_string().into(),
            source,
        };
        panics::count();
        let listener = self.listener.into_std().map_err(failed)?;
        let (gate, grace) = (self.gate, self.options.grace);
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let told = gate.clone();
        let late = async move {
            stop.await;
            told.stop(grace).await;
            // Whoever has all rows still reads the end of its streams.
            let _ = stopping.send(());
            tokio::time::sleep(ENDED).await;
        };
        let mut server = Server::builder();
        if let Some(tls) = self.options.security.of_server()? {
            server = server
                .tls_config(tls)
                .map_err(|error| failed(std::io::Error::other(error)))?;
        }
        let server = server
            .accept_http1(true)
            .tcp_nodelay(true)
            .http2_keepalive_interval(Some(QUIET))
            .http2_keepalive_timeout(Some(GONE))
            .http2_adaptive_window(Some(true))
            .layer(gate);
        let service = self.engine.into_worker_server();
        // Whoever drops this future drops the server.
        let mut tasks = JoinSet::new();
        let served = async move {
            let listener = TcpListener::from_std(listener)?;
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            let stopped = stopped.map(|_| ());
            let served = server.serve_with_incoming_shutdown(service, incoming, stopped);
            tokio::select! {
                served = served => served.map_err(std::io::Error::other),
                () = late => Ok(()),
            }
        };
        tasks.spawn_on(served, speaking()?);
        match tasks.join_next().await {
            Some(Ok(served)) => served.map_err(failed),
            Some(Err(error)) => Err(failed(std::io::Error::other(error))),
            None => Ok(()),
        }
    }
}
