//! Checkpoints in addition to those of every tenth commit.

use deltalake_core::DeltaTable;
use deltalake_core::checkpoints::create_checkpoint;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;

use super::{Log, log_error};
use crate::log_files::entries::{FOLDER, checkpoint_name};
use tsql_error::{Error, Result};

impl Log {
    /// Writes a checkpoint of the newest version if there is none. Readers then load it instead of each entry since the
    /// last one.
    pub async fn checkpoint(&self) -> Result<()> {
        let mut table = DeltaTable::new(self.log_store.clone());
        let loaded = table.load().await;
        loaded.map_err(|error| log_error(self.table, error))?;
        let Some(version) = table.version() else {
            return Ok(());
        };
        let path = Path::from(format!("{FOLDER}/{}", checkpoint_name(version)));
        match self.log_store.object_store(None).head(&path).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::NotFound { .. }) => {
                let written = create_checkpoint(&table, None).await;
                written.map_err(|error| log_error(self.table, error))
            }
            Err(error) => Err(Error::Storage(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::prefetch::tests::add;
    use crate::{Location, Store};
    use tsql_schema as schema;

    #[tokio::test]
    async fn a_checkpoint_has_all_of_a_version() {
        let location = Location::open("memory:").await.unwrap();
        let store = Store::from_location(location, "");
        let table = schema::table("graphs").unwrap();
        let log = Log::new(store.location(), table).unwrap();
        for graph in 1..=3 {
            add(&store, graph).await;
        }
        for _ in 0..2 {
            log.checkpoint().await.unwrap();
        }
        // Older entries are not needed.
        let objects = log.log_store.object_store(None);
        for version in 0..3 {
            let entry = Path::from(format!("{FOLDER}/{version:020}.json"));
            objects.delete(&entry).await.unwrap();
        }
        let snapshot = log.snapshot().await.unwrap().unwrap();
        assert_eq!((snapshot.version(), snapshot.files().len()), (3, 3));
        add(&store, 4).await;
        let snapshot = log.snapshot().await.unwrap().unwrap();
        assert_eq!((snapshot.version(), snapshot.files().len()), (4, 4));
    }
}
