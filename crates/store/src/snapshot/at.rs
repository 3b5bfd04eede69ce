//! Points in the history of a store.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tsql_error::{Error, Result};
use tsql_schema as schema;

/// A point in the history of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// A time, in milliseconds since 1970.
    Time(i64),
    /// The time at which this version of a table was complete: see [`at`](crate::Store::at).
    Version {
        /// Table.
        table: String,
        /// Version, as listed by `tsql history`.
        version: u64,
    },
    /// Exactly these table versions. Other tables have no rows.
    Versions(BTreeMap<String, u64>),
    /// The versions of this tag.
    Tag(String),
}

impl FromStr for At {
    type Err = Error;

    /// Parses `2026-11-21`, `2026-11-21T17:00:00Z`, `records@12`, `graphs@3,records@12` (with a trailing comma for a
    /// single table), or otherwise the name of a tag.
    fn from_str(text: &str) -> Result<Self> {
        if text.contains(',') {
            let versions = text
                .split(',')
                .filter(|one| !one.is_empty())
                .map(parse_version);
            return versions.collect::<Result<_>>().map(Self::Versions);
        }
        if text.contains('@') {
            let (table, version) = parse_version(text)?;
            return Ok(Self::Version { table, version });
        }
        let day = || {
            Some(
                text.parse::<chrono::NaiveDate>()
                    .ok()?
                    .and_time(chrono::NaiveTime::MIN)
                    .and_utc(),
            )
        };
        let local = || Some(text.parse::<chrono::NaiveDateTime>().ok()?.and_utc());
        let time = chrono::DateTime::parse_from_rfc3339(text)
            .ok()
            .map(|time| time.to_utc());
        let time = time.or_else(local).or_else(day);
        Ok(time.map_or_else(
            || Self::Tag(text.to_owned()),
            |time| Self::Time(time.timestamp_millis()),
        ))
    }
}

/// Parses `records@12`.
fn parse_version(text: &str) -> Result<(String, u64)> {
    let (table, version) = text.split_once('@').unwrap_or((text, ""));
    let wrong = |_| Error::NoVersion(format!("`{version}` is not a version of a table"));
    let version = version.parse().map_err(wrong)?;
    Ok((schema::table(table)?.name.clone(), version))
}

impl fmt::Display for At {
    /// Formats the value so that it can be parsed again.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(at_ms) => match chrono::DateTime::from_timestamp_millis(*at_ms) {
                Some(time) => {
                    let parts = chrono::SecondsFormat::AutoSi;
                    formatter.write_str(&time.to_rfc3339_opts(parts, true))
                }
                None => write!(formatter, "{at_ms} ms"),
            },
            Self::Version { table, version } => write!(formatter, "{table}@{version}"),
            Self::Versions(versions) => {
                let all: Vec<String> = versions
                    .iter()
                    .map(|(table, version)| format!("{table}@{version}"))
                    .collect();
                let alone = if all.len() == 1 { "," } else { "" };
                write!(formatter, "{}{alone}", all.join(","))
            }
            Self::Tag(name) => formatter.write_str(name),
        }
    }
}

/// Resolved point in history: each table as of a time, or at a known version.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsOf {
    /// Milliseconds since 1970. `None`: tables without a known version have no rows.
    pub(crate) at_ms: Option<i64>,
    /// Tables at exactly this version.
    pub(crate) exactly: BTreeMap<String, u64>,
    /// Tables at this version or a later one, because rows of others refer to it.
    pub(crate) at_least: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_versions() {
        let at = |text: &str| text.parse::<At>().unwrap();
        assert_eq!(at("1970-01-02"), At::Time(86_400_000));
        assert_eq!(at("1970-01-01T00:00:01"), At::Time(1000));
        assert_eq!(at("1970-01-01T01:00:01+01:00"), At::Time(1000));
        let (table, version) = ("records".to_owned(), 12);
        assert_eq!(at("records@12"), At::Version { table, version });
        assert_eq!(at("source_segments@3"), at("sources@3"));
        assert_eq!(at("v1.0"), At::Tag("v1.0".to_owned()));
        for text in [
            "2026-11-21T17:00:00Z",
            "records@12",
            "records@12,",
            "graphs@3,records@12",
            "v1.0",
        ] {
            assert_eq!(at(text).to_string(), text);
        }
        for wrong in ["records@x", "nothing@1", "records@1,nothing@1", "records,"] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }
}
