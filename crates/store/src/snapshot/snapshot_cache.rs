//! What sessions have made of the newest versions of tables, for those that come after them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::TableProvider;

/// Versions of tables by their names; `None` where nobody has written one yet.
pub type Versions = BTreeMap<&'static str, Option<u64>>;

/// Tables and views by their names in SQL, all of the same versions. Planning views anew takes most of what a session costs.
#[derive(Default)]
pub struct Shelf {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    versions: Versions,
    made: HashMap<String, Arc<dyn TableProvider>>,
}

impl Kept {
    /// No table has another version here.
    fn is_of(&self, versions: &Versions) -> bool {
        let is_same = |(table, version)| {
            let known = self.versions.get(table);
            known.is_none_or(|known| known == version)
        };
        versions.iter().all(is_same)
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl Shelf {
    /// What was made under this name of these versions, which are those of all tables that it reads.
    pub fn get(&self, name: &str, versions: &Versions) -> Option<Arc<dyn TableProvider>> {
        let kept = self.kept();
        let made = kept.made.get(name).filter(|_| kept.is_of(versions));
        made.cloned()
    }

    /// Keeps what was made; what is of other versions goes.
    pub fn keep(&self, name: &str, versions: &Versions, made: Arc<dyn TableProvider>) {
        let mut kept = self.kept();
        if !kept.is_of(versions) {
            *kept = Kept::default();
        }
        kept.versions.extend(versions);
        kept.made.insert(name.to_owned(), made);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
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
        let shelf = Shelf::default();
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
        shelf.keep("view", &of(Some(1), None), Arc::clone(&first));
        assert!(is("view", &of(Some(1), None), Some(&first)));
        for other in [of(Some(2), None), of(Some(1), Some(0)), of(None, None)] {
            assert!(is("view", &other, None), "{other:?}");
        }
        // Another table of the same version beside it.
        shelf.keep("records", &records(Some(1)), Arc::clone(&second));
        assert!(is("view", &of(Some(1), None), Some(&first)));
        assert!(is("records", &records(Some(1)), Some(&second)));
        // A commit to `records`: what was made before goes.
        shelf.keep("records", &records(Some(2)), Arc::clone(&first));
        assert!(is("records", &records(Some(2)), Some(&first)));
        assert!(is("view", &of(Some(2), None), None));
        assert!(is("view", &of(Some(1), None), None));
    }
}
