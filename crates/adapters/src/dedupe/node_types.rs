//! Ids of node types. The key of a node type depends on the dataset.

use std::collections::HashMap;
use std::hash::Hash;

use ahash::RandomState;
use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use tsql_error::Result;
use tsql_schema::column;
use tsql_store::{Snapshot, Store};

use super::ReadFiles;
use super::number_allocation::NumberAllocator;

/// Key of a node type.
pub(crate) trait NodeKey: Clone + Eq + Hash {
    /// Columns of the key.
    const COLUMNS: &'static [&'static str];

    /// Returns the key of each row. `None` for node types of other datasets.
    fn read(batch: &RecordBatch) -> Result<Vec<Option<Self>>>;
}

/// Ids of node types at one version of their table.
#[derive(Debug)]
pub(crate) struct NodeTypes<K> {
    version: Option<u64>,
    read: ReadFiles,
    numbers: HashMap<K, i64, RandomState>,
}

impl<K> Default for NodeTypes<K> {
    fn default() -> Self {
        Self {
            version: None,
            read: ReadFiles::default(),
            numbers: HashMap::default(),
        }
    }
}

impl<K: NodeKey> NumberAllocator for NodeTypes<K> {
    type Key = K;

    fn table() -> (&'static str, &'static str) {
        ("node_types", "node_type_id")
    }

    async fn load<R>(&mut self, store: &Store, at: &Snapshot, _: &[(K, R)]) -> Result<()> {
        if self.version == Some(at.version()) {
            return Ok(());
        }
        let (table, id) = Self::table();
        if let Some(new) = self.read.take_unread(at) {
            let columns: Vec<&str> = [id].iter().chain(K::COLUMNS).copied().collect();
            for batch in store.read(table, &new, &columns, None).await? {
                let ids = column::numbers::<Int64Type>(&batch, id)?;
                let keys = K::read(&batch)?.into_iter().zip(ids.values());
                let own = keys.filter_map(|(key, id)| Some((key?, *id)));
                self.numbers.extend(own);
            }
        }
        self.version = Some(at.version());
        Ok(())
    }

    fn number(&self, key: &K) -> Option<i64> {
        self.numbers.get(key).copied()
    }

    fn insert(&mut self, key: K, number: i64) {
        self.numbers.insert(key, number);
    }

    fn advance(&mut self, version: u64) {
        self.version = Some(version);
    }
}
