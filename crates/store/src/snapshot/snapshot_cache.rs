//! Cache of table providers for the newest versions, shared between sessions.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::TableProvider;

/// Table versions by name. `None`: the table was never written.
pub type Versions = BTreeMap<&'static str, Option<u64>>;

/// Table providers by SQL name, all of the same versions. Planning of views is most of the cost of a new session.
#[derive(Default)]
pub struct SnapshotCache {
    kept: Mutex<CachedTables>,
}

#[derive(Default)]
struct CachedTables {
    versions: Versions,
    made: HashMap<String, Arc<dyn TableProvider>>,
}

impl CachedTables {
    /// Returns whether no table has another version in the cache.
    fn matches(&self, versions: &Versions) -> bool {
        let is_same = |(table, version)| {
            let known = self.versions.get(table);
            known.is_none_or(|known| known == version)
        };
        versions.iter().all(is_same)
    }
}

impl fmt::Debug for SnapshotCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl SnapshotCache {
    /// Returns the cached provider of this name for these versions, which are those of all tables that it reads.
    pub fn get(&self, name: &str, versions: &Versions) -> Option<Arc<dyn TableProvider>> {
        let kept = self.lock();
        let made = kept.made.get(name).filter(|_| kept.matches(versions));
        made.cloned()
    }

    /// Caches a provider. Providers of other versions are removed.
    pub fn insert(&self, name: &str, versions: &Versions, made: Arc<dyn TableProvider>) {
        let mut kept = self.lock();
        if !kept.matches(versions) {
            *kept = CachedTables::default();
        }
        kept.versions.extend(versions);
        kept.made.insert(name.to_owned(), made);
    }

    fn lock(&self) -> MutexGuard<'_, CachedTables> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::datasource::empty::EmptyTable;

    use super::*;

    #[test]
    fn only_what_is_of_the_same_versions_is_given() {
        let shelf = SnapshotCache::default();
        let table =
            || Arc::new(EmptyTable::new(Arc::new(Schema::empty()))) as Arc<dyn TableProvider>;
        let (first, second) = (table(), table());
        let of = |records, graphs| Versions::from([("records", records), ("graphs", graphs)]);
        let records = |version| Versions::from([("records", version)]);
        let is = |name, versions: &Versions, wanted: Option<&Arc<dyn TableProvider>>| {
            let made = shelf.get(name, versions);
            match (made, wanted) {
                (Some(made), Some(wanted)) => Arc::ptr_eq(&made, wanted),
                (made, wanted) => made.is_none() && wanted.is_none(),
            }
        };
        assert!(is("view", &of(Some(1), None), None));
        shelf.insert("view", &of(Some(1), None), Arc::clone(&first));
        assert!(is("view", &of(Some(1), None), Some(&first)));
        for other in [of(Some(2), None), of(Some(1), Some(0)), of(None, None)] {
            assert!(is("view", &other, None), "{other:?}");
        }
        // Another table of the same version beside it.
        shelf.insert("records", &records(Some(1)), Arc::clone(&second));
        assert!(is("view", &of(Some(1), None), Some(&first)));
        assert!(is("records", &records(Some(1)), Some(&second)));
        // A commit to `records` invalidates the cache.
        shelf.insert("records", &records(Some(2)), Arc::clone(&first));
        assert!(is("records", &records(Some(2)), Some(&first)));
        assert!(is("view", &of(Some(2), None), None));
        assert!(is("view", &of(Some(1), None), None));
    }
}
