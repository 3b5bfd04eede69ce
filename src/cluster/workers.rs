//! The list of workers that a session was given.

use url::Url;

use super::addresses::Addresses;
use super::connections::Connections;
use super::security::Security;
use super::status::Status;
use crate::error::Result;

/// Rows that are read below which a question stays here: a guess, at which a scan should take longer than to ask
/// workers.
const LEAST_ROWS: f64 = 2_000_000.0;

/// Machines that take part in answering.
///
/// They are found and asked when a question is worth it, not before.
#[derive(Clone, Debug)]
pub struct Workers {
    addresses: Addresses,
    security: Security,
    least_rows: f64,
}

impl Workers {
    /// Those of a list: `host:port,host:port`, `dns:name:port` (all addresses of a name), `slurm` (the machines of
    /// this process's job).
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) where it is no such list.
    pub fn parse(list: &str) -> Result<Self> {
        Ok(Self {
            addresses: Addresses::parse(list)?,
            security: Security::none(),
            least_rows: LEAST_ROWS,
        })
    }

    /// What is shown to them; nothing unless it is set.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Rows that a question must be expected to read to be sent; two million unless it is set.
    #[must_use]
    pub fn least_rows(mut self, rows: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a threshold")]
        let rows = rows as f64;
        self.least_rows = rows;
        self
    }

    /// What each of them says of itself, by address; a sentence where it says nothing.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) where a name cannot be resolved.
    pub async fn status(&self) -> Result<Vec<(Url, std::result::Result<Status, String>)>> {
        self.ask(&self.connections()).await
    }

    /// Connections to them, and none yet.
    pub(super) fn connections(&self) -> Connections {
        Connections::new(self.security.clone())
    }

    pub(super) fn rows(&self) -> f64 {
        self.least_rows
    }

    pub(super) async fn ask(
        &self,
        connections: &Connections,
    ) -> Result<Vec<(Url, std::result::Result<Status, String>)>> {
        let urls = self.addresses.resolve(self.security.scheme()).await?;
        let asked = urls.into_iter().map(async |url| {
            let status = connections.ask(&url).await;
            (url, status.map_err(|error| error.message().into_owned()))
        });
        Ok(futures::future::join_all(asked).await)
    }
}
