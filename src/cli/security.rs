//! What the environment says of tokens and certificates.

use std::path::PathBuf;

use clap::Args;

use crate::cluster::Security;
use crate::error::{Error, Result};

/// Variable with a token, and the one with the file that has it.
const TOKEN: &str = "TSQL_TOKEN";
const TOKEN_FILE: &str = "TSQL_TOKEN_FILE";

/// Certificates, for `tsql worker` and whoever asks it. A token comes from the environment only: a command line is
/// seen by all users of a machine.
#[derive(Args, Debug, Default)]
pub(super) struct Certificates {
    /// Own certificate, in PEM
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key",
        hide_env_values = true,
        hide = true
    )]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, in PEM
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_KEY",
        value_name = "FILE",
        requires = "tls_cert",
        hide_env_values = true,
        hide = true
    )]
    tls_key: Option<PathBuf>,
    /// Whose certificates are believed, in PEM
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_CA",
        value_name = "FILE",
        hide_env_values = true,
        hide = true
    )]
    tls_ca: Option<PathBuf>,
    /// Name that the certificates of all workers are for, instead of their addresses
    #[arg(
        long,
        global = true,
        env = "TSQL_TLS_NAME",
        value_name = "NAME",
        hide_env_values = true,
        hide = true
    )]
    tls_name: Option<String>,
}

impl Certificates {
    /// These, and the token of the environment.
    pub(super) fn security(&self) -> Result<Security> {
        let mut security = Security::none();
        if let Some(token) = token()? {
            security = security.token(&token)?;
        }
        let identity = self.tls_cert.clone().zip(self.tls_key.clone());
        if identity.is_some() || self.tls_ca.is_some() {
            security = security.tls(identity, self.tls_ca.clone(), self.tls_name.clone())?;
        }
        Ok(security)
    }
}

fn token() -> Result<Option<String>> {
    match (std::env::var(TOKEN), std::env::var_os(TOKEN_FILE)) {
        (Ok(_), Some(_)) => Err(Error::Setting(format!(
            "{TOKEN} and {TOKEN_FILE} are both set: which is meant?"
        ))),
        (Ok(token), None) => Ok(Some(token)),
        (Err(_), Some(file)) => {
            let read = std::fs::read_to_string(&file);
            read.map(Some).map_err(Error::io(PathBuf::from(file)))
        }
        (Err(_), None) => Ok(None),
    }
}
