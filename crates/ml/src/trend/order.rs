//! Places of a history: commits, days or sources.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use datafusion::prelude::SessionContext;
use serde::{Serialize, Serializer};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_session::noise::spoiled_expression;

/// Label of commits.
const COMMIT: &str = "commit";

/// Places of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrendOrder {
    /// Values of a label of the sources, such as `commit`.
    Label(String),
    /// Days of the measurements, in UTC.
    Day,
    /// Sources: files and streams.
    Source,
}

impl FromStr for TrendOrder {
    type Err = Error;

    /// Parses `day`, `source`, or the key of a label; `label:day` is a label of that name.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "day" => Ok(Self::Day),
            "source" => Ok(Self::Source),
            "" | "label:" => Err(Error::Argument {
                name: "by",
                reason: "no text, expected `day`, `source` or the key of a label".to_owned(),
            }),
            key => {
                let key = key.strip_prefix("label:").unwrap_or(key);
                Ok(Self::Label(key.to_owned()))
            }
        }
    }
}

impl Display for TrendOrder {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(key) if matches!(key.as_str(), "day" | "source") => {
                write!(to, "label:{key}")
            }
            Self::Label(key) => to.write_str(key),
            Self::Day => to.write_str("day"),
            Self::Source => to.write_str("source"),
        }
    }
}

impl Serialize for TrendOrder {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl TrendOrder {
    /// SQL query for the timed records with `place`, and the time `at` that orders the places.
    pub(super) fn placed_runs(&self, predicate: &str) -> String {
        let place = match self {
            Self::Label(_) => "l.value",
            Self::Day => "CAST(CAST(r.measured_at AS DATE) AS VARCHAR)",
            Self::Source => "s.name",
        };
        let labels = match self {
            Self::Label(key) => format!(
                "JOIN labels AS l ON l.source_id = r.source_id AND l.key = '{}'",
                key.replace('\'', "''")
            ),
            Self::Day | Self::Source => String::new(),
        };
        let spoiled = spoiled_expression();
        format!(
            "SELECT r.graph_id, r.config_id, r.platform, r.value, coalesce(r.measured_at, s.first_ingested_at) AS at, \
             arrow_cast({place}, 'Utf8View') AS place \
             FROM (SELECT graph_id, config_id, arrow_cast(platform, 'Utf8View') AS platform, source_id, measured_at, \
             list_median(repeats_ns) AS value FROM records \
             WHERE ({predicate}) AND error_no = 0 AND runtime_ns > 0 AND NOT {spoiled}) AS r \
             JOIN (SELECT source_id, name, first_ingested_at FROM sources) AS s ON s.source_id = r.source_id {labels} \
             WHERE {place} IS NOT NULL AND r.value > 0"
        )
    }

    /// Returns the reason why there are no places.
    pub(super) fn explain_missing(&self) -> String {
        let missing = match self {
            Self::Label(key) => format!("no timed records have the label `{key}`"),
            Self::Day => "no timed records have a time".to_owned(),
            Self::Source => "there are no timed records".to_owned(),
        };
        format!("{missing}\nhint: order by the key of a label, by `day` or by `source`")
    }
}

/// Returns the label `commit` if a source has it, days if records have times, else sources.
pub(super) async fn default_order(context: &SessionContext) -> Result<TrendOrder> {
    let commits = format!("SELECT 1 AS one FROM labels WHERE key = '{COMMIT}' LIMIT 1");
    let times = "SELECT 1 AS one FROM records WHERE measured_at IS NOT NULL LIMIT 1";
    if has_rows(context, &commits).await? {
        return Ok(TrendOrder::Label(COMMIT.to_owned()));
    }
    Ok(match has_rows(context, times).await? {
        true => TrendOrder::Day,
        false => TrendOrder::Source,
    })
}

async fn has_rows(context: &SessionContext, sql: &str) -> Result<bool> {
    let batches = collect(context, sql).await?;
    Ok(batches.iter().any(|batch| batch.num_rows() > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_parsed_and_printed() {
        for (text, order) in [
            ("day", TrendOrder::Day),
            ("source", TrendOrder::Source),
            ("commit", TrendOrder::Label("commit".to_owned())),
            ("label:day", TrendOrder::Label("day".to_owned())),
        ] {
            assert_eq!(text.parse::<TrendOrder>().unwrap(), order);
            assert_eq!(order.to_string(), text);
        }
        assert!("".parse::<TrendOrder>().is_err());
    }
}
