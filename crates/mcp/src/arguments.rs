//! Arguments of the tools.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tsql_error::{Error, Result};

/// Default number of rows of a result.
pub(crate) const DEFAULT_ROWS: usize = 200;

/// Maximum number of rows of a result.
pub(crate) const MAX_ROWS: usize = 10_000;

/// Default time of a query in seconds.
pub(crate) const DEFAULT_TIMEOUT_S: f64 = 30.0;

/// Maximum time of a query in seconds.
pub(crate) const MAX_TIMEOUT_S: f64 = 3600.0;

/// Limits of a result.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ResultLimits {
    max_rows: Option<usize>,
    timeout_seconds: Option<f64>,
}

impl ResultLimits {
    /// Returns the maximum number of rows.
    pub(crate) fn rows(self) -> Result<usize> {
        let rows = self.max_rows.unwrap_or(DEFAULT_ROWS);
        if (1..=MAX_ROWS).contains(&rows) {
            return Ok(rows);
        }
        Err(Error::Argument {
            name: "max_rows",
            reason: format!("`max_rows` is {rows}, expected 1 to {MAX_ROWS}"),
        })
    }

    /// Returns the maximum time of the query.
    pub(crate) fn timeout(self) -> Result<Duration> {
        timeout(self.timeout_seconds)
    }
}

/// Returns the maximum time of a request.
pub(crate) fn timeout(seconds: Option<f64>) -> Result<Duration> {
    let seconds = seconds.unwrap_or(DEFAULT_TIMEOUT_S);
    if seconds > 0.0 && seconds <= MAX_TIMEOUT_S {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(Error::Argument {
        name: "timeout_seconds",
        reason: format!(
            "`timeout_seconds` is {seconds}, expected more than 0 and at most {MAX_TIMEOUT_S}"
        ),
    })
}

/// Arguments of `list_tables`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListTables {
    #[serde(default)]
    pub(crate) include_empty: bool,
}

/// Arguments of `describe_table`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribeTable {
    pub(crate) name: String,
}

/// Arguments of `list_queries`: none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQueries {}

/// Arguments of `query`.
#[derive(Debug, Deserialize)]
pub(crate) struct Query {
    pub(crate) sql: String,
    #[serde(flatten)]
    pub(crate) limits: ResultLimits,
}

/// Arguments of `run_query`.
#[derive(Debug, Deserialize)]
pub(crate) struct RunQuery {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, Value>,
    #[serde(flatten)]
    pub(crate) limits: ResultLimits,
}

/// Arguments of `plot`: SQL, or a built-in query with its parameters.
#[cfg(feature = "plot")]
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plot {
    pub(crate) sql: Option<String>,
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) spec: String,
    #[serde(default)]
    pub(crate) dark: bool,
    pub(crate) timeout_seconds: Option<f64>,
}

/// Arguments of `compare`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    pub(crate) a: String,
    pub(crate) b: String,
    #[serde(rename = "where")]
    pub(crate) predicate: Option<String>,
    pub(crate) minimum_change: Option<f64>,
    pub(crate) top: Option<usize>,
    pub(crate) timeout_seconds: Option<f64>,
}

/// Parses the arguments of a tool.
pub(crate) fn parse<T: DeserializeOwned>(
    tool: &str,
    known: &[&str],
    arguments: JsonObject,
) -> Result<T> {
    let refused = |reason: String| Error::Argument {
        name: "arguments",
        reason: format!(
            "invalid arguments of `{tool}`: {reason}\nhint: {tool} has {}",
            match known {
                [] => "no arguments".to_owned(),
                _ => format!("the arguments {}", known.join(", ")),
            }
        ),
    };
    if let Some(name) = arguments
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    {
        return Err(refused(format!("unknown argument `{name}`")));
    }
    serde_json::from_value(Value::Object(arguments)).map_err(|error| refused(error.to_string()))
}

/// Returns parameters as text, as the command line has them.
pub(crate) fn parameter_texts(
    parameters: BTreeMap<String, Value>,
) -> Result<Vec<(String, String)>> {
    let texts = parameters.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(number) => Ok((name, number.to_string())),
        Value::Bool(value) => Ok((name, value.to_string())),
        other => Err(Error::Argument {
            name: "parameters",
            reason: format!("parameter `{name}` is `{other}`, expected text or a number"),
        }),
    });
    texts.collect()
}
