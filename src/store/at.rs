//! A store as it was.

use std::str::FromStr;
use std::sync::PoisonError;

use super::log::Log;
use super::{Snapshot, Store};
use crate::error::{Error, Result};
use crate::schema;

/// A moment in the history of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// A time, in milliseconds since 1970.
    Time(i64),
    /// When this version of a table was written.
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
            let wrong = |_| Error::Usage(format!("`{version}` is no version of a table"));
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
            Error::Usage(format!(
                "`{text}` is no time; expected one like 2026-11-21T17:00:00Z, or a version like records@12"
            ))
        })?;
        Ok(Self::Time(time.timestamp_millis()))
    }
}

impl Store {
    /// The store as it was at this moment, for looking only. All tables are as they were then, as far
    /// back as their logs reach and `vacuum` has left their files.
    ///
    /// # Errors
    /// [`Error::Usage`] for a version that a log does not have (any more), and failures of the storage.
    pub async fn at(&self, at: &At) -> Result<Self> {
        let at_ms = match at {
            At::Time(at_ms) => *at_ms,
            At::Version { table, version } => {
                let log = Log::new(self.location(), schema::table(table)?)?;
                log.written_at_ms(*version).await?.ok_or_else(|| {
                    Error::Usage(format!(
                        "the log of {table} has no version {version}\nhint: `tsql history` lists what there is"
                    ))
                })?
            }
        };
        Ok(Self {
            at_ms: Some(at_ms),
            ..self.clone()
        })
    }

    /// # Errors
    /// [`Error::Usage`] for a store as it was.
    pub(crate) fn changeable(&self) -> Result<()> {
        if self.at_ms.is_none() {
            return Ok(());
        }
        let reason = "a store as it was cannot be changed\nhint: leave out --at";
        Err(Error::Usage(reason.to_owned()))
    }

    /// The version of a table that this store shows, the newest one unless it is a store as it was;
    /// `None` where there was none yet.
    pub(crate) async fn snapshot(&self, table: &str) -> Result<Option<Snapshot>> {
        if let Some(at_ms) = self.at_ms {
            let log = Log::new(self.location(), schema::table(table)?)?;
            return log.snapshot_at(at_ms).await;
        }
        let newest = match self.known(table) {
            Some(known) => Some(known.newest().await?),
            None => {
                let log = Log::new(self.location(), schema::table(table)?)?;
                log.snapshot().await?
            }
        };
        if let Some(newest) = &newest {
            self.learn(table, newest);
        }
        Ok(newest)
    }

    /// A version of a table that was read before; there may be newer ones.
    pub(super) fn known(&self, table: &str) -> Option<Snapshot> {
        let snapshots = self.snapshots.lock();
        let snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        snapshots.get(table).cloned()
    }

    /// Remembers a version of a table, so that only newer ones need be read.
    pub(super) fn learn(&self, table: &str, snapshot: &Snapshot) {
        let snapshots = self.snapshots.lock();
        let mut snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        let known = snapshots.get(table).map(Snapshot::version);
        if known.is_none_or(|known| known < snapshot.version()) {
            snapshots.insert(table.to_owned(), snapshot.clone());
        }
    }
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
