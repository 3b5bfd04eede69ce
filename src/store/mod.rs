//! The public store type: the tables of [`tsql_store`], with a method for each operation.

#[cfg(feature = "plot")]
mod charts;
mod datasets;
mod learning;
#[cfg(all(feature = "measure", target_os = "linux"))]
mod measurements;
mod sessions;

use std::ops::Deref;

use crate::error::Result;

pub use tsql_store::*;

/// A store of graphs, configurations and measurements.
///
/// - Cheap to clone; clones are the same store.
/// - Safe to use from many threads and processes at once.
/// - Holds no open files. Every call sees the newest committed state.
#[derive(Clone, Debug)]
pub struct Store(tsql_store::Store);

impl Deref for Store {
    type Target = tsql_store::Store;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Store> for tsql_store::Store {
    fn from(store: Store) -> Self {
        store.0
    }
}

impl From<tsql_store::Store> for Store {
    fn from(store: tsql_store::Store) -> Self {
        Self(store)
    }
}

impl Store {
    /// Creates a store at `location`, which must not exist or be an empty directory. `memory:` creates one that ends
    /// with the process.
    ///
    /// # Errors
    /// [`crate::Error::CannotCreate`] if something else is there.
    pub async fn create(location: &str) -> Result<Self> {
        Ok(Self(tsql_store::Store::create(location).await?))
    }

    /// Opens the store at `location`, a directory or a URL.
    ///
    /// # Errors
    /// [`crate::Error::NotAStore`] if there is none, and whatever the storage reports.
    pub async fn open(location: &str) -> Result<Self> {
        Ok(Self(tsql_store::Store::open(location).await?))
    }

    /// Opens the store at `location`, or creates it if there is none.
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`open`](Self::open).
    pub async fn open_or_create(location: &str) -> Result<Self> {
        Ok(Self(tsql_store::Store::open_or_create(location).await?))
    }

    /// Finds the store of the working directory or of a folder above it.
    ///
    /// # Errors
    /// [`crate::Error::Foreign`] if it belongs to another user.
    pub fn discover() -> Result<Option<String>> {
        tsql_store::Store::discover()
    }

    /// Calls `report` when a writer waits for another process, with the name of that process.
    #[must_use]
    pub fn with_reporter(self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(self.0.with_reporter(report))
    }

    /// Returns the store at a time, a tag or a version. It cannot be changed.
    ///
    /// # Errors
    /// [`crate::Error::NoVersion`] if the log does not go back that far.
    pub async fn at(&self, at: &At) -> Result<Self> {
        Ok(Self(self.0.at(at).await?))
    }
}
