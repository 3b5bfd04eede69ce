//! Places that nothing is delivered to: the folders of a store's tables.

use std::path::{Path, PathBuf};

use tsql_formats::marker::is_store;

use crate::error::{Error, Result};
use crate::schema;

/// Rejects a path that is a store, or in the folder of a table of one: whoever reads the table might take the file for
/// its own, and `tsql vacuum` removes it.
///
/// # Errors
/// [`Error::Source`], which names the store.
pub(crate) fn check_outside(path: &Path) -> Result<()> {
    let real = real(path);
    let rejected = |store: &Path| Error::Source {
        location: path.display().to_string(),
        reason: format!(
            "it belongs to the store `{}`, expected a place outside of it",
            store.display()
        ),
    };
    if is_store(&real) {
        return Err(rejected(&real));
    }
    for folder in real.ancestors() {
        let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
            continue;
        };
        let is_table = schema::tables()?
            .iter()
            .any(|table| name == table.name.as_str());
        if is_table && is_store(above) {
            return Err(rejected(above));
        }
    }
    Ok(())
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for folder in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), absolute.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    absolute
}
