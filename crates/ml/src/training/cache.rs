//! Cache of selections: each is a folder of the user's cache, named by a hash of its inputs.
//!
//! ```text
//! ~/.cache/tsql/rows/<32 digits>/                  a selection (see `selection_writer`)
//!                    tsql-<random>/files/<...>     one that is being written or removed
//! ```
//!
//! A complete folder is renamed atomically. If two processes write the same selection, the second uses the
//! folder of the first. A folder whose content does not match `about.json` is rebuilt. The least recently used
//! selections are removed if the cache has too many bytes; a process that has one open can still read it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tsql_error::{Error, Result};
use tsql_folders::{MappedFile, Scratch};

use super::file::RowsFile;
use super::options::RowsOptions;
use super::order::Units;
use super::selection::Selection;
use super::selection_writer::{ABOUT, About, Content, FAMILIES, GROUPS, ROWS, write};

/// Folder of selections in the user's cache.
const CACHE_FOLDER: &str = "rows";

/// Environment variable with the path of another cache.
const CACHE_VARIABLE: &str = "TSQL_CACHE";

/// An open selection.
#[derive(Debug)]
pub(super) struct CachedSelection {
    pub(super) file: RowsFile,
    pub(super) units: Units,
    /// Ends of the families of units, if the selection is balanced.
    pub(super) families: Option<Arc<[u64]>>,
    /// Temporary folder of a selection that is not cached; removed with this value.
    _own: Option<Scratch>,
}

/// Returns the rows of a selection, from the cache or newly written.
pub(super) async fn cached_selection(
    selection: &Selection,
    sql: &str,
    options: &RowsOptions,
) -> Result<CachedSelection> {
    let of_user = || tsql_folders::cache().map(|cache| cache.join(CACHE_FOLDER));
    let place = options.cache.clone().or_else(of_user);
    let Some((place, key)) = place.zip(selection.key.as_ref()) else {
        let own = Scratch::new()?;
        write(selection, sql, own.path()).await?;
        let kept = open_selection(own.path()).map_err(unreadable_error)?;
        return Ok(CachedSelection {
            _own: Some(own),
            ..kept
        });
    };
    tsql_folders::create_private(&place, CACHE_VARIABLE)?;
    let folder = place.join(key);
    if let Ok(kept) = open_selection(&folder) {
        touch(&folder);
        return Ok(kept);
    }
    let scratch = Scratch::new_in(&place)?;
    let made = scratch.path().join("made");
    fs::create_dir(&made).map_err(Error::io(&made))?;
    write(selection, sql, &made).await?;
    let kept = publish(&made, &folder, &scratch)?;
    evict(&place, &folder, options.cache_bytes, &scratch);
    Ok(kept)
}

fn unreadable_error(reason: String) -> Error {
    Error::Internal(format!("a selection that was just written: {reason}"))
}

/// Publishes a folder under its name, unless another process did so first.
fn publish(made: &Path, folder: &Path, scratch: &Scratch) -> Result<CachedSelection> {
    let kept = open_selection(made).map_err(unreadable_error)?;
    if fs::rename(made, folder).is_ok() {
        return Ok(kept);
    }
    if let Ok(theirs) = open_selection(folder) {
        return Ok(theirs);
    }
    // The existing folder is damaged; it is removed with the scratch folder.
    let _ = fs::rename(folder, scratch.path().join("damaged"));
    // If this fails too, the next process writes it again; this mapping stays valid.
    let _ = fs::rename(made, folder);
    Ok(kept)
}

/// Opens the selection of a folder; the error is the reason why it is not valid.
fn open_selection(folder: &Path) -> Result<CachedSelection, String> {
    let text = fs::read_to_string(folder.join(ABOUT)).map_err(|error| error.to_string())?;
    let about: About = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let file = RowsFile::from_mapped(open_verified(&folder.join(ROWS), &about.rows)?)?;
    let rows = file.row_count();
    let units = match &about.groups {
        None => Units::Rows(rows),
        Some(content) => Units::Groups(read_ends(&folder.join(GROUPS), content, rows)?),
    };
    let unit_count = match &units {
        Units::Rows(rows) => *rows,
        Units::Groups(ends) => ends.len() as u64,
    };
    let families = about.families.as_ref();
    let families = families.map(|content| read_ends(&folder.join(FAMILIES), content, unit_count));
    let families = families.transpose()?;
    Ok(CachedSelection {
        file,
        units,
        families,
        _own: None,
    })
}

/// Reads the ends of ranges that cover `count` items.
fn read_ends(path: &Path, content: &Content, count: u64) -> Result<Arc<[u64]>, String> {
    let ends = open_verified(path, content)?;
    let ends = ends.as_ref().as_chunks::<8>().0.iter();
    let ends: Arc<[u64]> = ends.map(|end| u64::from_le_bytes(*end)).collect();
    if ends.last().copied().unwrap_or_default() != count || !ends.is_sorted() {
        return Err("its groups do not match its rows".to_owned());
    }
    Ok(ends)
}

fn open_verified(path: &Path, content: &Content) -> Result<MappedFile, String> {
    let mapped = MappedFile::open(path).map_err(|error| error.to_string())?;
    if Content::from_bytes(mapped.as_ref()) != *content {
        return Err(format!("{}: it is damaged", path.display()));
    }
    Ok(mapped)
}

/// Records that a selection was used, as the modification time of its description.
fn touch(folder: &Path) {
    let about = tsql_folders::open_own(&folder.join(ABOUT), fs::File::options().append(true));
    // If this fails, the selection is evicted a little earlier.
    let _ = about.and_then(|about| about.set_modified(SystemTime::now()));
}

/// Evicts the least recently used selections, so that at most `most` bytes remain besides `new`.
fn evict(place: &Path, new: &Path, most: u64, scratch: &Scratch) {
    let mut all = list_selections(place);
    all.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    let newest = all.iter().find(|(.., folder)| folder == new);
    let mut bytes = newest.map_or(0, |(_, bytes, _)| *bytes);
    for (number, (_, size, folder)) in all.iter().enumerate() {
        if folder == new {
            continue;
        }
        bytes = bytes.saturating_add(*size);
        if bytes > most {
            // Renamed first, so that no process finds a partial folder.
            let going = scratch.path().join(format!("going-{number}"));
            let _ = fs::rename(folder, going);
        }
    }
}

/// Returns true if a folder was written by [`cached_selection`]. Everything else in the cache belongs to the
/// user, whatever its name.
fn is_selection(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    let metadata = folder.symlink_metadata();
    let is_own = metadata.is_ok_and(|folder| folder.is_dir() && tsql_folders::is_own(&folder));
    let has_others = || {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        let own = [ABOUT, ROWS, GROUPS, FAMILIES];
        names.any(|name| own.iter().all(|own| name != *own))
    };
    tsql_folders::is_hash(name) && is_own && !has_others()
}

/// Returns the selections of a cache: last use, size in bytes, folder.
fn list_selections(place: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        if !is_selection(&entry.path()) {
            return None;
        }
        let about = fs::metadata(entry.path().join(ABOUT)).ok()?;
        let bytes = |name| fs::metadata(entry.path().join(name)).map_or(0, |file| file.len());
        let bytes = about.len() + bytes(ROWS) + bytes(GROUPS) + bytes(FAMILIES);
        Some((about.modified().ok()?, bytes, entry.path()))
    });
    found.collect()
}
