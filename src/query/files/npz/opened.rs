//! An npz file, here or elsewhere, as something that can be read from any place.

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

use super::super::found::{Found, wrong};
use crate::error::Error;

/// What a file from elsewhere is called in its temporary folder.
const FETCHED: &str = "fetched.npz";

/// Where a file is.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Here(PathBuf),
    /// In a bucket or on a server: it comes into a temporary folder once.
    Elsewhere(Arc<Elsewhere>),
}

#[derive(Debug)]
pub(super) struct Elsewhere {
    path: String,
    objects: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    fetched: OnceCell<Scratch>,
}

impl Source {
    pub(super) fn of(found: &Found, meta: &ObjectMeta) -> Result<Self, DataFusionError> {
        let url = found.url_of(meta);
        if url.scheme() == "file" {
            let path = url.to_file_path();
            let path = path.map_err(|()| wrong(url.as_str(), "no path of this machine"))?;
            return Ok(Self::Here(path));
        }
        Ok(Self::Elsewhere(Arc::new(Elsewhere {
            path: url.to_string(),
            objects: Arc::clone(&found.objects),
            meta: meta.clone(),
            fetched: OnceCell::new(),
        })))
    }

    /// As it is told to people.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Here(path) => path.display().to_string(),
            Self::Elsewhere(file) => file.path.clone(),
        }
    }

    /// Opens it, with a place of its own to read at.
    pub(super) async fn open(&self) -> Result<Npz<File>, DataFusionError> {
        let opened = match self {
            Self::Here(path) => File::open(path)?,
            Self::Elsewhere(file) => {
                let fetched = file.fetched.get_or_try_init(|| file.fetch()).await?;
                File::open(fetched.path().join(FETCHED))?
            }
        };
        Npz::open(opened).map_err(|reason| wrong(&self.path(), reason))
    }
}

impl Elsewhere {
    async fn fetch(&self) -> Result<Scratch, DataFusionError> {
        let scratch = Scratch::new();
        let scratch =
            scratch.map_err(|error| DataFusionError::External(Box::new(Error::from(error))))?;
        let mut file = File::create(scratch.path().join(FETCHED))?;
        let mut bytes = self.objects.get(&self.meta.location).await?.into_stream();
        while let Some(bytes) = bytes.next().await {
            file.write_all(&bytes?)?;
        }
        Ok(scratch)
    }
}
