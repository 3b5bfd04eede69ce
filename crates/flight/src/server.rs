//! The listening server.

use std::net::SocketAddr;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use futures::FutureExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::transport::server::TcpIncoming;
use tsql_cluster::{Security, grpc_server, io_runtime};
use tsql_error::{Error, Result};
use tsql_store::Store;

use super::options::FlightOptions;
use super::queries::Queries;
use super::service::Service;
use super::token::TokenCheck;

/// Time for streams to end during shutdown.
const STREAM_DRAIN_TIME: Duration = Duration::from_secs(1);

/// Server of Arrow Flight SQL for one store.
pub struct FlightServer {
    listener: TcpListener,
    address: SocketAddr,
    security: Security,
    service: Service,
    /// Ends all streams when it is dropped.
    serving: watch::Sender<()>,
}

impl std::fmt::Debug for FlightServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("FlightServer");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl FlightServer {
    /// Listens for clients. Requests are served only by [`FlightServer::serve`]. Each reads the newest version of the
    /// store, unless `store` is an earlier version.
    ///
    /// # Errors
    /// [`Error::Argument`] if it cannot listen on the address, or if other machines could connect without TLS or
    /// without authentication; [`Error::Io`] if the folder for spilled data cannot be created.
    pub async fn start(store: impl Into<Store>, options: FlightOptions) -> Result<Self> {
        let refused = |reason: String| Error::Argument {
            name: "flight",
            reason,
        };
        let listener = TcpListener::bind(&options.listen).await;
        let listener = listener.map_err(|error| {
            refused(format!(
                "cannot listen on `{}`: {error}\nhint: port 0 selects a free port",
                options.listen
            ))
        })?;
        let address = listener
            .local_addr()
            .map_err(|error| refused(error.to_string()))?;
        if !address.ip().is_loopback() {
            check_exposed(address, &options.security).map_err(refused)?;
        }
        let session = options.session.share_memory()?.store_only();
        let (serving, served) = watch::channel(());
        let queries = Queries::new(store.into(), session, served);
        let service = Service::new(queries).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self {
            listener,
            address,
            security: options.security,
            service,
            serving,
        })
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients: `grpc://HOST:PORT`, or `grpc+tls://HOST:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if is_encrypted(&self.security) {
            "grpc+tls"
        } else {
            "grpc"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Serves requests until `stop` is ready; running queries are then cancelled.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot continue to listen, [`Error::Argument`] for a certificate without its key.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<()> {
        let address = self.address;
        let failed = |source: std::io::Error| Error::Io {
            path: address.to_string().into(),
            source,
        };
        let service =
            FlightServiceServer::with_interceptor(self.service, TokenCheck(self.security.clone()));
        let mut server = grpc_server(&self.security)?;
        let listener = self.listener.into_std().map_err(failed)?;
        let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
        // Dropping this future drops the server.
        let mut tasks = JoinSet::new();
        let served = async move {
            let listener = TcpListener::from_std(listener)?;
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            let router = server.add_service(service);
            let served = router.serve_with_incoming_shutdown(incoming, stopped.map(|_| ()));
            served.await.map_err(std::io::Error::other)
        };
        tasks.spawn_on(served, io_runtime()?);
        let ended = tokio::select! {
            ended = tasks.join_next() => ended,
            () = stop => {
                drop(self.serving);
                let _ = stopping.send(());
                tokio::time::timeout(STREAM_DRAIN_TIME, tasks.join_next()).await.ok().flatten()
            }
        };
        match ended {
            Some(Ok(served)) => served.map_err(failed),
            Some(Err(error)) => Err(failed(std::io::Error::other(error))),
            None => Ok(()),
        }
    }
}

fn is_encrypted(security: &Security) -> bool {
    security.scheme() == "https"
}

/// Checks the credentials of a server that other machines can reach.
fn check_exposed(address: SocketAddr, security: &Security) -> std::result::Result<(), String> {
    if !is_encrypted(security) {
        return Err(format!(
            "{address} is reachable from other machines, and the connection is not encrypted\n\
             hint: set a certificate (--tls-cert FILE --tls-key FILE), or listen on 127.0.0.1 and use an SSH tunnel"
        ));
    }
    if !security.requires_authentication() {
        return Err(format!(
            "{address} is reachable from other machines, which could read the store\n\
             hint: set a token (TSQL_TOKEN, TSQL_TOKEN_FILE), or the authority of client certificates (--tls-ca FILE)"
        ));
    }
    Ok(())
}
