//! Settings of all gRPC servers of this process.

use tonic::transport::Server;
use tsql_error::{Error, Result};

use super::io_runtime::{KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT};
use super::security::Security;

/// Returns a server that notices lost clients, with the TLS configuration of `security`.
///
/// # Errors
/// [`Error::Argument`] if it has no certificate to present, or an invalid one.
pub fn grpc_server(security: &Security) -> Result<Server> {
    let mut server = Server::builder();
    if let Some(tls) = security.server_tls()? {
        server = server.tls_config(tls).map_err(|error| Error::Argument {
            name: "tls-cert",
            reason: format!("the certificate cannot be used: {error}"),
        })?;
    }
    Ok(server
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(KEEP_ALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .http2_adaptive_window(Some(true)))
}
