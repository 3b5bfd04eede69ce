//! A worker: runs stages of queries that other machines have planned.
//!
//! ```text
//!  connection ─▶ gate ─▶ decoding ─▶ checks, cancellable readers ─▶ execution ─▶ rows
//!                │ token, stopping, counters   (plans: supported nodes,     │
//!                │                              files of pinned versions)   │
//!                └ /health /status /metrics    stops with its query ◀───────┘ (running_queries)
//! ```
//!
//! A worker serves the stores that it was started with, using its own credentials, and nothing else. A plan
//! names a store by its identity and tables by their versions, and each file of a plan must belong to one of
//! them. There are no sinks. All running queries share the memory limit and spill to temporary files.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]

mod counters;
mod gate;
mod panics;
#[cfg(any(test, fuzzing))]
pub mod plan_harness;
mod plans;
mod running_queries;
mod served_stores;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use datafusion_distributed::Worker as Engine;
use derive_setters::Setters;
use futures::FutureExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::transport::server::TcpIncoming;
use tsql_cluster::{Connections, Security, grpc_server, io_runtime};
use tsql_error::{Error, Result};
use tsql_store::Store;

use counters::Counters;
use gate::Gate;
use running_queries::RunningQueries;
use served_stores::ServedStores;

/// Time for streams to end during shutdown.
const STREAM_DRAIN_TIME: Duration = Duration::from_secs(1);

/// Options of a worker.
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct WorkerOptions {
    /// Sets address and port; by default only this machine can connect. Port 0 selects a free port.
    #[setters(into)]
    listen: String,
    /// Sets the credentials that it requires from clients and presents to other workers.
    security: Security,
    /// Sets the total memory limit of joins, sorts and aggregates in bytes; beyond it they spill to temporary
    /// files.
    memory_limit_bytes: Option<usize>,
    /// Sets the time limit of a query; ten minutes by default.
    deadline: Duration,
    /// Sets how long running queries may continue during shutdown; half a minute by default.
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

/// A listening worker.
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
    /// Starts to listen for queries of these stores. Accepts none before [`Worker::serve`].
    ///
    /// # Errors
    /// [`Error::Argument`] if other machines could connect without authentication, or if it cannot listen on
    /// the address.
    pub async fn start(
        stores: impl IntoIterator<Item = impl Into<Store>>,
        options: WorkerOptions,
    ) -> Result<Self> {
        let stores: Vec<Store> = stores.into_iter().map(Into::into).collect();
        let refused = |reason: String| Error::Argument {
            name: "listen",
            reason,
        };
        let listener = TcpListener::bind(&options.listen).await;
        let listener =
            listener.map_err(|error| refused(format!("`{}`: {error}", options.listen)))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| refused(error.to_string()))?;
        if !address.ip().is_loopback() && !options.security.requires_authentication() {
            return Err(refused(format!(
                "{address} is reachable from other machines, which could read the stores\n\
                 hint: set a token (TSQL_TOKEN, TSQL_TOKEN_FILE), or certificates of both sides \
                 (--tls-cert, --tls-key, --tls-ca)"
            )));
        }
        let (runtime, spilled) = tsql_engine::build_runtime(options.memory_limit_bytes)?;
        let stores = Arc::new(ServedStores::new(stores)?);
        let questions = RunningQueries::new(options.deadline);
        let counters = Arc::new(Counters::new(
            tsql_session::plan_version(),
            stores.status(),
            Arc::clone(&runtime),
            options.memory_limit_bytes,
        ));
        let sessions = plans::WorkerSessions {
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

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts queries until `stop` resolves. Then it accepts none, and returns when running queries have
    /// finished or the grace period is over.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot continue to listen.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let failed = |source: std::io::Error| Error::Io {
            path: self.address.to_string().into(),
            source,
        };
        panics::install_counting_hook();
        let listener = self.listener.into_std().map_err(failed)?;
        let (gate, grace) = (self.gate, self.options.grace);
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let told = gate.clone();
        let late = async move {
            stop.await;
            told.drain(grace).await;
            // A client that has all rows still reads the end of its streams.
            let _ = stopping.send(());
            tokio::time::sleep(STREAM_DRAIN_TIME).await;
        };
        let server = grpc_server(&self.options.security)?;
        let server = server.accept_http1(true).layer(gate);
        let service = self.engine.into_worker_server();
        // Dropping this future drops the server.
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
        tasks.spawn_on(served, io_runtime()?);
        match tasks.join_next().await {
            Some(Ok(served)) => served.map_err(failed),
            Some(Err(error)) => Err(failed(std::io::Error::other(error))),
            None => Ok(()),
        }
    }
}
