//! Sources that other runs have named in the log of a table.

use std::collections::HashSet;

use tsql_error::Result;
use tsql_store::Snapshot;

/// Transaction names in a log's commits, without those of this run.
#[derive(Debug, Default)]
pub(super) struct ConcurrentCommits {
    /// All commits up to this version were read.
    version: u64,
    named: HashSet<String>,
    /// One of the commits is missing from the log.
    is_torn: bool,
}

impl ConcurrentCommits {
    /// Starts at this version, with no names.
    pub(super) fn since(version: u64) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    /// Reads the commits up to a version.
    pub(super) async fn read_log(&mut self, snapshot: &Snapshot) -> Result<()> {
        match snapshot.applications_since(self.version).await? {
            Some(named) => self.named.extend(named),
            None => self.is_torn = true,
        }
        self.version = self.version.max(snapshot.version());
        Ok(())
    }

    /// Skips a commit of this run, which directly follows the last one read.
    pub(super) fn skip(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Returns whether one of these names was committed. Returns true if the log is incomplete.
    pub(super) fn contains_any(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
        self.is_torn
            || names
                .into_iter()
                .any(|name| self.named.contains(name.as_ref()))
    }
}
