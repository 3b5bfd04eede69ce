//! Which store is meant.

use std::path::{Path, PathBuf};

use clap::Args;

use super::talk;
use crate::error::{Error, Result};
use crate::store::Store;

/// Folder of a project's store, found from any folder below.
const FOLDER: &str = ".tsql";

/// Name of the file that makes a folder a store.
const MARKER: &str = "tsql.toml";

/// Where the store is.
#[derive(Args, Debug)]
pub(super) struct Place {
    /// Directory or URL of the store [default: the working directory's, or the next one's above
    /// it that has one in `.tsql`]
    #[arg(
        long,
        global = true,
        env = "TSQL_STORE",
        value_name = "DIR|URL",
        hide_env_values = true
    )]
    pub(super) store: Option<String>,
}

impl Place {
    /// The store that was named or found; `None` where there is none.
    async fn find(&self) -> Result<Option<Store>> {
        match self.location() {
            Some(location) => Store::open(&location).await.map(Some),
            None => Ok(None),
        }
    }

    /// The store for reading; the built-in one where there is none.
    pub(super) async fn open_or_demo(&self) -> Result<Store> {
        if let Some(store) = self.find().await? {
            return Ok(store);
        }
        talk("note: no store here; this is the built-in sample (`tsql ingest` makes a store)");
        Store::demo().await
    }

    /// The store for upkeep.
    pub(super) async fn open(&self) -> Result<Store> {
        self.find().await?.ok_or_else(|| Error::NotAStore {
            location: FOLDER.to_owned(),
        })
    }

    /// The store for writing, made where there is none.
    pub(super) async fn open_or_create(&self) -> Result<Store> {
        let location = self.location().unwrap_or_else(|| FOLDER.to_owned());
        let before = Store::open(&location).await;
        let new = matches!(before, Err(Error::NotAStore { .. }));
        let store = if new {
            Store::open_or_create(&location).await
        } else {
            before
        };
        if new && store.is_ok() {
            talk(&format!("made the store {location}"));
        }
        store
    }

    /// The store for looking only; an empty one in memory where there is none.
    pub(super) async fn open_or_memory(&self) -> Result<Store> {
        match self.find().await {
            Ok(Some(store)) => Ok(store),
            Ok(None) | Err(Error::NotAStore { .. }) => Store::create("memory:").await,
            Err(error) => Err(error),
        }
    }

    /// Where a new store goes.
    pub(super) fn new_location(&self) -> String {
        self.store.clone().unwrap_or_else(|| FOLDER.to_owned())
    }

    fn location(&self) -> Option<String> {
        if let Some(store) = &self.store {
            return Some(store.clone());
        }
        let here = std::env::current_dir().ok()?;
        here.ancestors()
            .find_map(store_at)
            .map(|path| path.to_string_lossy().into_owned())
    }
}

fn store_at(folder: &Path) -> Option<PathBuf> {
    let is_store = |folder: &PathBuf| folder.join(MARKER).is_file();
    Some(folder.to_path_buf())
        .filter(is_store)
        .or_else(|| Some(folder.join(FOLDER)).filter(is_store))
}
