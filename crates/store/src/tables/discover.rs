//! The store of the working directory, where none was named.

use std::path::{Path, PathBuf};

use tsql_formats::marker;

use crate::Store;
use tsql_error::{Error, Result};

/// Folder of a project's store, found from any folder below.
pub const FOLDER: &str = ".tsql";

impl Store {
    /// Where the next store is in the working directory or above it, if it is the user's: whoever can write there could
    /// have put one that names programs to be built, and hears what is asked. `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Foreign`] where it is somebody else's.
    pub fn near() -> Result<Option<String>> {
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
        // A link, too, is somebody's, and so is a file in a folder that all may write to.
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
