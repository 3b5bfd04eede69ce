//! The store and table versions that are sent to workers with a plan.

use std::collections::BTreeMap;

use datafusion::common::config::ConfigExtension;
use datafusion::common::extensions_options;

extensions_options! {
    /// The store and the table versions that a session reads; set by the session.
    pub struct Pinned {
        /// URL of the store in plans.
        pub store: String, default = String::new()
        /// Table versions: `graphs=3,records=12`.
        pub versions: String, default = String::new()
    }
}

impl ConfigExtension for Pinned {
    const PREFIX: &'static str = "tsql_pinned";
}

impl Pinned {
    pub(super) fn for_store(store: &str) -> Self {
        Self {
            store: store.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn pin(&mut self, versions: &BTreeMap<String, u64>) {
        let versions = versions.iter();
        let versions = versions.map(|(table, version)| format!("{table}={version}"));
        self.versions = versions.collect::<Vec<_>>().join(",");
    }

    /// Returns tables and their versions; `None` if the text is malformed.
    pub fn tables(&self) -> Option<Vec<(&str, u64)>> {
        let entries = self.versions.split(',').filter(|entry| !entry.is_empty());
        entries
            .map(|entry| {
                let (table, version) = entry.split_once('=')?;
                Some((table, version.parse().ok()?))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_back() {
        let versions = BTreeMap::from([("graphs".to_owned(), 3), ("records".to_owned(), 12)]);
        let mut pinned = Pinned::for_store("tsql://store-1");
        pinned.pin(&versions);
        assert_eq!(pinned.tables().unwrap(), [("graphs", 3), ("records", 12)]);
        let wrong = Pinned {
            versions: "graphs".to_owned(),
            ..pinned
        };
        assert_eq!(wrong.tables(), None);
        assert_eq!(Pinned::default().tables(), Some(Vec::new()));
    }
}
