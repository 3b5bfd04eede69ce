//! Discovery of the store of the working directory.

use std::path::{Path, PathBuf};

use tsql_formats::marker;

use crate::Store;
use tsql_error::{Error, Result};

/// Folder of a project's store, found from any subfolder.
pub const FOLDER: &str = ".tsql";

impl Store {
    /// Returns the store in the working directory or the nearest parent, if it belongs to the user. Others who can
    /// write there could place a store that names programs to build, and that receives the user's queries. `None` if
    /// there is no store.
    ///
    /// # Errors
    /// [`Error::Foreign`] if it belongs to another user.
    pub fn discover() -> Result<Option<String>> {
        let Ok(here) = std::env::current_dir() else {
            return Ok(None);
        };
        let Some(found) = here.ancestors().find_map(store_at) else {
            return Ok(None);
        };
        let Some(location) = found.to_str().map(str::to_owned) else {
            return Err(Error::InvalidLocation(format!(
                "`{}` is not UTF-8, expected a store in a folder of another name",
                found.display()
            )));
        };
        // Links are checked as well, and files in folders that everybody may write to.
        let markers = marker::NAMES.map(|name| found.join(name).symlink_metadata());
        let folder = [found.symlink_metadata(), found.metadata()];
        for told in folder
            .into_iter()
            .chain(markers)
            .filter_map(std::result::Result::ok)
        {
            if !tsql_folders::is_own(&told) {
                let owner = tsql_folders::owner(&told);
                return Err(Error::Foreign { location, owner });
            }
        }
        Ok(Some(location))
    }
}

fn store_at(folder: &Path) -> Option<PathBuf> {
    let both = [folder.to_path_buf(), folder.join(FOLDER)];
    both.into_iter().find(|folder| marker::is_store(folder))
}
