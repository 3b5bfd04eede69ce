//! Source of an npz file, local or remote, with random access.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use futures::StreamExt as _;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use tokio::sync::OnceCell;
use tsql_folders::Scratch;
use tsql_formats::npz::Npz;

use super::super::file_listing::{FileListing, invalid_path};
use tsql_error::Error;

/// File name of a downloaded file in its temporary folder.
const DOWNLOAD_NAME: &str = "fetched.npz";

/// Location of an npz file.
#[derive(Clone, Debug)]
pub(super) enum NpzSource {
    Here(PathBuf),
    /// In a bucket or on a server. The file is downloaded to a temporary folder once.
    Elsewhere(Arc<RemoteFile>),
}

#[derive(Debug)]
pub(super) struct RemoteFile {
    path: String,
    objects: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    fetched: OnceCell<Scratch>,
}

impl NpzSource {
    pub(super) fn locate(found: &FileListing, meta: &ObjectMeta) -> Result<Self, DataFusionError> {
        let url = found.url(meta);
        if url.scheme() == "file" {
            let path = url.to_file_path();
            let path = path.map_err(|()| invalid_path(url.as_str(), "it is not a local path"))?;
            return Ok(Self::Here(path));
        }
        Ok(Self::Elsewhere(Arc::new(RemoteFile {
            path: url.to_string(),
            objects: Arc::clone(&found.objects),
            meta: meta.clone(),
            fetched: OnceCell::new(),
        })))
    }

    /// Path for messages.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Here(path) => path.display().to_string(),
            Self::Elsewhere(file) => file.path.clone(),
        }
    }

    /// Opens the file with its own read position.
    pub(super) async fn open(&self) -> Result<Npz<File>, DataFusionError> {
        let opened = match self {
            Self::Here(path) => File::open(path)?,
            Self::Elsewhere(file) => {
                let fetched = file.fetched.get_or_try_init(|| file.download()).await?;
                File::open(fetched.path().join(DOWNLOAD_NAME))?
            }
        };
        Npz::open(opened).map_err(|reason| invalid_path(&self.path(), reason))
    }
}

impl RemoteFile {
    async fn download(&self) -> Result<Scratch, DataFusionError> {
        let scratch = Scratch::new();
        let scratch =
            scratch.map_err(|error| DataFusionError::External(Box::new(Error::from(error))))?;
        let mut file = File::create(scratch.path().join(DOWNLOAD_NAME))?;
        let mut bytes = self.objects.get(&self.meta.location).await?.into_stream();
        while let Some(bytes) = bytes.next().await {
            file.write_all(&bytes?)?;
        }
        Ok(scratch)
    }
}
