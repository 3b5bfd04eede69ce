//! How often data that is read is compared with what was written: `SET tsql.verify = ...`.

use std::fmt;
use std::str::FromStr;

use datafusion::catalog::Session;
use datafusion::common::config::{ConfigExtension, ConfigField, ConfigOptions, Visit};
use datafusion::common::{DataFusionError, Result, extensions_options};

use crate::settings::rule_switches::RuleSwitches;

/// The variable of the environment with what a session begins with.
const VARIABLE: &str = "TSQL_VERIFY";

/// How often what is read of a data file is compared with its checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// At each read.
    #[default]
    Always,
    /// Each block once in a process and version of the table: sessions share what they know.
    Once,
    /// Not at all.
    Never,
}

impl Verify {
    /// What the environment asks for.
    pub(crate) fn of_environment() -> tsql_error::Result<Self> {
        let Ok(wanted) = std::env::var(VARIABLE) else {
            return Ok(Self::default());
        };
        let parsed = wanted.parse();
        parsed.map_err(|_| tsql_error::Error::Setting(format!("{VARIABLE}: {}", refused(&wanted))))
    }

    /// What a session asks for.
    pub(crate) fn from_session(session: &dyn Session) -> Self {
        Self::of_options(session.config_options())
    }

    /// What these settings ask for.
    pub(crate) fn of_options(options: &ConfigOptions) -> Self {
        let settings = options.extensions.get::<Settings>();
        settings.map_or_else(Self::default, |settings| settings.verify)
    }
}

fn refused(wanted: &str) -> String {
    format!("`{wanted}` is none of always, once, never")
}

impl FromStr for Verify {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "always" => Self::Always,
            "once" => Self::Once,
            "never" => Self::Never,
            _ => return Err(DataFusionError::Configuration(refused(text))),
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
    /// What a session begins with.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where the environment asks for what there is not.
    pub fn of_environment(rules: RuleSwitches) -> tsql_error::Result<Self> {
        Ok(Self {
            verify: Verify::of_environment()?,
            rules,
        })
    }
}
