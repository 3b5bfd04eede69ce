//! Tokens and certificates of workers.

use std::path::PathBuf;

use clap::Args;
use tsql_cluster::Security;
use tsql_error::Result;

/// Certificates of workers and their clients. A token comes from the environment only, because all users of a machine
/// see command lines.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Workers")]
pub(super) struct Certificates {
    /// Certificate of this machine, in PEM
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key",
        hide_env_values = true
    )]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, in PEM
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_KEY",
        value_name = "FILE",
        requires = "tls_cert",
        hide_env_values = true
    )]
    tls_key: Option<PathBuf>,
    /// Certificates of trusted authorities, in PEM
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_CA",
        value_name = "FILE",
        hide_env_values = true
    )]
    tls_ca: Option<PathBuf>,
    /// Name in the certificates of all workers
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_NAME",
        value_name = "NAME",
        hide_env_values = true
    )]
    tls_name: Option<String>,
}

impl Certificates {
    /// Returns the certificates, and the token of the environment.
    pub(super) fn security(&self) -> Result<Security> {
        let mut security = Security::none().token_from_env()?;
        let identity = self.tls_cert.clone().zip(self.tls_key.clone());
        if identity.is_some() || self.tls_ca.is_some() {
            security = security.tls(identity, self.tls_ca.clone(), self.tls_name.clone())?;
        }
        Ok(security)
    }
}
