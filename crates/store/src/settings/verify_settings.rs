//! Verification of data files against their checksums: `SET tsql.verify = ...`.

use std::fmt;
use std::str::FromStr;

use datafusion::catalog::Session;
use datafusion::common::config::{ConfigExtension, ConfigField, ConfigOptions, Visit};
use datafusion::common::{DataFusionError, Result, extensions_options};

use crate::settings::rule_switches::RuleSwitches;

/// Environment variable with the initial setting of a session.
const VARIABLE: &str = "TSQL_VERIFY";

/// How often the blocks of a data file are compared with their checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// On every read.
    #[default]
    Always,
    /// Each block once per process and table version. Sessions share the state.
    Once,
    /// Never.
    Never,
}

impl Verify {
    /// Returns the setting of the environment.
    pub(crate) fn from_env() -> tsql_error::Result<Self> {
        let Ok(wanted) = std::env::var(VARIABLE) else {
            return Ok(Self::default());
        };
        let parsed = wanted.parse();
        parsed.map_err(|_| {
            tsql_error::Error::Setting(format!("{VARIABLE}: {}", invalid_value(&wanted)))
        })
    }

    /// Returns the setting of a session.
    pub(crate) fn from_session(session: &dyn Session) -> Self {
        Self::from_options(session.config_options())
    }

    /// Returns the setting in these options.
    pub(crate) fn from_options(options: &ConfigOptions) -> Self {
        let settings = options.extensions.get::<Settings>();
        settings.map_or_else(Self::default, |settings| settings.verify)
    }
}

fn invalid_value(wanted: &str) -> String {
    format!("`{wanted}` is invalid, expected always, once or never")
}

impl FromStr for Verify {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "always" => Self::Always,
            "once" => Self::Once,
            "never" => Self::Never,
            _ => return Err(DataFusionError::Configuration(invalid_value(text))),
        })
    }
}

impl fmt::Display for Verify {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Always => "always",
            Self::Once => "once",
            Self::Never => "never",
        })
    }
}

impl ConfigField for Verify {
    fn visit<V: Visit>(&self, visitor: &mut V, key: &str, description: &'static str) {
        visitor.some(key, self, description);
    }

    fn set(&mut self, _: &str, value: &str) -> Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

extensions_options! {
    /// Settings of a session over a store.
    pub struct Settings {
        /// How often what is read of a data file is compared with its checksums: always, once (each block once in a process and version of the table), never.
        pub verify: Verify, default = Verify::Always
        /// Rules of the engine that are switched on.
        pub rules: RuleSwitches, default = RuleSwitches::default()
    }
}

impl ConfigExtension for Settings {
    const PREFIX: &'static str = "tsql";
}

impl Settings {
    /// Returns the initial settings of a session.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] if the environment variable has an invalid value.
    pub fn from_env(rules: RuleSwitches) -> tsql_error::Result<Self> {
        Ok(Self {
            verify: Verify::from_env()?,
            rules,
        })
    }
}
