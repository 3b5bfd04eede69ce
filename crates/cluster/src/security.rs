//! Authentication between workers and coordinators: a token, certificates, or both.

use std::path::{Path, PathBuf};

use http::HeaderValue;
use subtle::ConstantTimeEq as _;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};
use tsql_error::{Error, Result};

/// TLS configuration of one side, in PEM: its own certificate with the key, and the authority it trusts.
#[derive(Clone)]
struct Tls {
    identity: Option<Identity>,
    authority: Option<Certificate>,
    /// Host name in the certificates of workers, whatever address a worker is reached at.
    name: Option<String>,
}

/// Variable with a token.
const TOKEN: &str = "TSQL_TOKEN";

/// Variable with the name of a file that contains a token.
const TOKEN_FILE: &str = "TSQL_TOKEN_FILE";

/// Credentials that a coordinator presents, and that a worker requires.
///
/// - A token is a shared secret. It is read from a file or the environment, never from a command line.
/// - With certificates all traffic is encrypted. A worker that has an authority, and no token, accepts only
///   clients that present a certificate of it.
#[derive(Clone, Default)]
pub struct Security {
    token: Option<HeaderValue>,
    tls: Option<Tls>,
}

impl std::fmt::Debug for Security {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Security")
            .field("has_token", &self.token.is_some())
            .field("has_tls", &self.tls.is_some())
            .finish()
    }
}

impl Security {
    /// Returns no credentials: for workers of the same machine.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Presents, or requires, this token.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is empty or has characters that a header cannot contain.
    pub fn token(mut self, token: &str) -> Result<Self> {
        let token = token.trim();
        let header = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut header = header.ok().filter(|_| !token.is_empty()).ok_or_else(|| {
            let reason = "the token is invalid, expected a line of printable characters".to_owned();
            Error::Argument {
                name: "token",
                reason,
            }
        })?;
        header.set_sensitive(true);
        self.token = Some(header);
        Ok(self)
    }

    /// Presents, or requires, the token of the environment, if there is one: `TSQL_TOKEN`, or the content of the file
    /// `TSQL_TOKEN_FILE`.
    ///
    /// # Errors
    /// [`Error::Setting`] if both are set, [`Error::Io`] if the file cannot be read, and as [`Security::token`].
    pub fn token_from_env(self) -> Result<Self> {
        match token_from_env()? {
            Some(token) => self.token(&token),
            None => Ok(self),
        }
    }

    /// Returns the credentials of the environment: [`Security::token_from_env`], and the certificates of `TSQL_TLS_CERT`,
    /// `TSQL_TLS_KEY`, `TSQL_TLS_CA` and `TSQL_TLS_NAME`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a certificate without its key, and as [`Security::token_from_env`] and [`Security::tls`].
    pub fn from_env() -> Result<Self> {
        let security = Self::none().token_from_env()?;
        let file = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let identity = match (file("TSQL_TLS_CERT"), file("TSQL_TLS_KEY")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                let reason = "one of TSQL_TLS_CERT and TSQL_TLS_KEY is missing, expected both";
                return Err(Error::Setting(reason.to_owned()));
            }
        };
        let authority = file("TSQL_TLS_CA");
        if identity.is_none() && authority.is_none() {
            return Ok(security);
        }
        security.tls(identity, authority, std::env::var("TSQL_TLS_NAME").ok())
    }

    /// Encrypts connections. `identity` is this side's certificate and key, `authority` the trusted authority;
    /// all are PEM files. Certificates of workers are for their addresses, or all for one `name`.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read.
    pub fn tls(
        mut self,
        identity: Option<(PathBuf, PathBuf)>,
        authority: Option<PathBuf>,
        name: Option<String>,
    ) -> Result<Self> {
        // Two providers are built in, and tonic does not choose. A provider that the process installed earlier
        // stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let read = |path: &Path| std::fs::read(path).map_err(Error::io(path));
        let identity = match identity {
            Some((certificate, key)) => Some(Identity::from_pem(read(&certificate)?, read(&key)?)),
            None => None,
        };
        let authority = authority.map(|path| read(&path)).transpose()?;
        self.tls = Some(Tls {
            identity,
            authority: authority.map(Certificate::from_pem),
            name,
        });
        Ok(self)
    }

    /// URL scheme of workers.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns true if a worker may listen on an address that other machines can reach.
    pub fn requires_authentication(&self) -> bool {
        let believes = |tls: &Tls| tls.identity.is_some() && tls.authority.is_some();
        self.token.is_some() || self.tls.as_ref().is_some_and(believes)
    }

    /// Value of the `authorization` header.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.token.as_ref()
    }

    /// Returns true if the header matches the token. The comparison takes constant time.
    pub fn admits(&self, shown: Option<&HeaderValue>) -> bool {
        let Some(wanted) = &self.token else {
            return true;
        };
        let shown = shown.map_or(&[][..], HeaderValue::as_bytes);
        wanted.as_bytes().ct_eq(shown).into()
    }

    /// TLS configuration of a client of a worker.
    pub fn client_tls(&self) -> Option<ClientTlsConfig> {
        let tls = self.tls.as_ref()?;
        let mut config = ClientTlsConfig::new();
        if let Some(authority) = &tls.authority {
            config = config.ca_certificate(authority.clone());
        }
        if let Some(identity) = &tls.identity {
            config = config.identity(identity.clone());
        }
        if let Some(name) = &tls.name {
            config = config.domain_name(name);
        }
        Some(config)
    }

    /// TLS configuration of a worker.
    ///
    /// # Errors
    /// [`Error::Argument`] if it has no certificate to present.
    pub fn server_tls(&self) -> Result<Option<ServerTlsConfig>> {
        let Some(tls) = &self.tls else {
            return Ok(None);
        };
        let identity = tls.identity.clone().ok_or_else(|| Error::Argument {
            name: "tls-cert",
            reason: "a server needs a certificate\nhint: --tls-cert FILE --tls-key FILE".to_owned(),
        })?;
        let mut config = ServerTlsConfig::new().identity(identity);
        if let Some(authority) = &tls.authority {
            // A client that presents the token needs no certificate.
            config = config
                .client_ca_root(authority.clone())
                .client_auth_optional(self.token.is_some());
        }
        Ok(Some(config))
    }
}

fn token_from_env() -> Result<Option<String>> {
    match (std::env::var(TOKEN), std::env::var_os(TOKEN_FILE)) {
        (Ok(_), Some(_)) => Err(Error::Setting(format!(
            "{TOKEN} and {TOKEN_FILE} are both set, and only one is allowed"
        ))),
        (Ok(token), None) => Ok(Some(token)),
        (Err(_), Some(file)) => {
            let read = std::fs::read_to_string(&file);
            read.map(Some).map_err(Error::io(PathBuf::from(file)))
        }
        (Err(_), None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_accepted() {
        let security = Security::none().token("secret\n").unwrap();
        let shown = |text: &'static str| Some(HeaderValue::from_static(text));
        assert!(security.admits(shown("Bearer secret").as_ref()));
        for wrong in [
            "Bearer secre",
            "Bearer secret2",
            "secret",
            "",
            "bearer secret",
        ] {
            assert!(!security.admits(shown(wrong).as_ref()), "{wrong}");
        }
        assert!(!security.admits(None));
        assert!(Security::none().admits(None));
        assert!(!format!("{security:?}").contains("secret"));
        assert!(Security::none().token("").is_err());
    }
}
