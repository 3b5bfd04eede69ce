//! What other runs have named in the log of a table since a run looked at it.

use std::collections::HashSet;

use crate::error::Result;
use crate::store::Snapshot;

/// Names in a log's commits, without those of this run's own.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// All commits up to this one were read.
    version: u64,
    named: HashSet<String>,
    /// The log did not have one of them any more.
    is_torn: bool,
}

impl Others {
    /// Nobody has named anything yet: the run looked at this version.
    pub(super) fn since(version: u64) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    /// Reads what was committed up to a version.
    pub(super) async fn learn(&mut self, snapshot: &Snapshot) -> Result<()> {
        match snapshot.named_since(self.version).await? {
            Some(named) => self.named.extend(named),
            None => self.is_torn = true,
        }
        self.version = self.version.max(snapshot.version());
        Ok(())
    }

    /// Leaves out a commit of this run's own, which followed the last one that was read.
    pub(super) fn skip(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Has one of these been named, as far as the log shows?
    pub(super) fn have_named(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
        self.is_torn
            || names
                .into_iter()
                .any(|name| self.named.contains(name.as_ref()))
    }
}
