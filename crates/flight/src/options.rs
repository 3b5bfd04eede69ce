//! Options of the server.

use derive_setters::Setters;
use tsql_cluster::Security;
use tsql_session::SessionOptions;

/// Options of a [`FlightServer`](crate::FlightServer).
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
pub struct FlightOptions {
    /// Sets address and port. By default only this machine can connect, to a free port.
    #[setters(into)]
    pub(crate) listen: String,
    /// Sets the token that clients need, and the certificate of the server.
    pub(crate) security: Security,
    /// Sets the limits of queries. All running queries share the memory limit.
    pub(crate) session: SessionOptions,
}

impl Default for FlightOptions {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            security: Security::none(),
            session: SessionOptions::default(),
        }
    }
}
