//! Protection of store folders from other output.

use std::path::{Path, PathBuf};

use tsql_formats::marker::is_store;

use crate::error::{Error, Result};
use crate::schema;

/// Rejects a path in a store, or in a table folder of a store. Table readers could mistake the file for a data file,
/// and `tsql vacuum` would remove it.
///
/// # Errors
/// [`Error::Source`], which names the store.
pub(crate) fn check_outside(path: &Path) -> Result<()> {
    let real = resolve_links(path);
    let rejected = |store: &Path| Error::Source {
        location: path.display().to_string(),
        reason: format!(
            "it belongs to the store `{}`, expected a path outside of the store",
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

/// Resolves links in a path, as far as it exists.
fn resolve_links(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for folder in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), absolute.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    absolute
}
