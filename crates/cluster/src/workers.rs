//! The worker list of a session.

use datafusion::common::DataFusionError;
use tsql_error::Result;
use url::Url;

use super::addresses::Addresses;
use super::connections::Connections;
use super::security::Security;
use super::status::Status;

/// Minimum number of scanned rows at which a query is distributed. A guess: from here on, a scan should take
/// longer than contacting workers.
const MIN_ROWS: f64 = 2_000_000.0;

/// Machines that help to run queries.
///
/// They are resolved and contacted when a query is large enough, not before.
#[derive(Clone, Debug)]
pub struct Workers {
    addresses: Addresses,
    security: Security,
    least_rows: f64,
}

impl Workers {
    /// Parses a list: `host:port,host:port`, `dns:name:port` (all addresses of a name), `slurm` (the machines
    /// of this process's job).
    ///
    /// # Errors
    /// [`Error::Argument`](tsql_error::Error::Argument) if the text is not such a list.
    pub fn parse(list: &str) -> Result<Self> {
        Ok(Self {
            addresses: Addresses::parse(list)?,
            security: Security::none(),
            least_rows: MIN_ROWS,
        })
    }

    /// Sets the credentials to present; none by default.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Sets the estimated number of scanned rows from which a query is distributed; two million by default.
    #[must_use]
    pub fn least_rows(mut self, rows: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a threshold")]
        let rows = rows as f64;
        self.least_rows = rows;
        self
    }

    /// Returns the status of each worker by address, or an error message.
    ///
    /// # Errors
    /// [`Error::Argument`](tsql_error::Error::Argument) if a name cannot be resolved.
    pub async fn status(&self) -> Result<Vec<(Url, std::result::Result<Status, String>)>> {
        let answers = self.query_status(&self.connections()).await?.into_iter();
        let text = |error: DataFusionError| error.message().into_owned();
        Ok(answers
            .map(|(url, answer)| (url, answer.map_err(text)))
            .collect())
    }

    /// Returns an empty connection pool.
    pub(super) fn connections(&self) -> Connections {
        Connections::new(self.security.clone())
    }

    pub(super) fn min_rows(&self) -> f64 {
        self.least_rows
    }

    pub(super) async fn query_status(
        &self,
        connections: &Connections,
    ) -> Result<Vec<(Url, std::result::Result<Status, DataFusionError>)>> {
        let urls = self.addresses.resolve(self.security.scheme()).await?;
        let asked = urls.into_iter().map(async |url| {
            let status = connections.query_status(&url).await;
            (url, status)
        });
        Ok(futures::future::join_all(asked).await)
    }
}
