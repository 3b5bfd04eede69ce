//! Moments in the history of a store.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::schema;

/// A moment in the history of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// A time, in milliseconds since 1970.
    Time(i64),
    /// When this version of a table was complete: see [`at`](super::Store::at).
    Version {
        /// The table.
        table: String,
        /// Its version, as `tsql history` lists them.
        version: u64,
    },
}

impl FromStr for At {
    type Err = Error;

    /// Reads `2026-11-21`, `2026-11-21T17:00:00Z` or `records@12`.
    fn from_str(text: &str) -> Result<Self> {
        if let Some((table, version)) = text.split_once('@') {
            let wrong = |_| Error::NoVersion(format!("`{version}` is no version of a table"));
            let version = version.parse().map_err(wrong)?;
            schema::table(table)?;
            return Ok(Self::Version {
                table: table.to_owned(),
                version,
            });
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
        let time = time.or_else(local).or_else(day).ok_or_else(|| {
            Error::NoVersion(format!(
                "`{text}` is no time; expected one like 2026-11-21T17:00:00Z, or a version like records@12"
            ))
        })?;
        Ok(Self::Time(time.timestamp_millis()))
    }
}

/// The moment that a store is looked at: each table as of a time, unless a version is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    /// Milliseconds since 1970.
    pub(super) at_ms: i64,
    /// Tables at exactly this version.
    pub(super) exactly: BTreeMap<String, u64>,
    /// Tables at this version or a later one: rows of others refer to what it has.
    pub(super) at_least: BTreeMap<String, u64>,
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
        for wrong in ["yesterday", "records@x", "nothing@1"] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }
}
