//! Selections that are kept: each a folder of the user's cache, by what it follows from.
//!
//! ```text
//! ~/.cache/tsql/rows/<32 digits>/                  a selection (see `written`)
//!                    tsql-<random>/files/<...>     one that is being made, or is going
//! ```
//!
//! A folder gets its name when it is complete, in one step, so that of two processes that make the same one the
//! second finds that of the first. What is not what `about.json` says is made anew. The ones that were
//! not used for longest go when there are too many bytes; who has them open keeps them until it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tsql_folders::{Mapped, Scratch};

use super::file::RowsFile;
use super::options::RowsOptions;
use super::order::Units;
use super::selection::Selection;
use super::written::{ABOUT, About, Content, FAMILIES, GROUPS, ROWS, write};
use crate::error::{Error, Result};

/// Folder of selections in the user's cache.
const FOLDER: &str = "rows";

/// The variable that names another cache.
const VARIABLE: &str = "TSQL_CACHE";

/// A selection, ready to be read.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) file: RowsFile,
    pub(super) units: Units,
    /// Where families of units end, if these take turns.
    pub(super) families: Option<Arc<[u64]>>,
    /// The folder of one that nobody else will find; it goes with this.
    _own: Option<Scratch>,
}

/// The rows of a selection: those that are kept, or made now.
pub(super) async fn kept(selection: &Selection, sql: &str, options: &RowsOptions) -> Result<Kept> {
    let of_user = || tsql_folders::cache().map(|cache| cache.join(FOLDER));
    let place = options.cache.clone().or_else(of_user);
    let Some((place, key)) = place.zip(selection.key.as_ref()) else {
        let own = Scratch::new()?;
        write(selection, sql, own.path()).await?;
        let kept = opened(own.path()).map_err(unreadable)?;
        return Ok(Kept {
            _own: Some(own),
            ..kept
        });
    };
    tsql_folders::private(&place, VARIABLE)?;
    let folder = place.join(key);
    if let Ok(kept) = opened(&folder) {
        used(&folder);
        return Ok(kept);
    }
    let scratch = Scratch::within(&place)?;
    let made = scratch.path().join("made");
    fs::create_dir(&made).map_err(Error::io(&made))?;
    write(selection, sql, &made).await?;
    let kept = named(&made, &folder, &scratch)?;
    clean(&place, &folder, options.cache_bytes, &scratch);
    Ok(kept)
}

fn unreadable(reason: String) -> Error {
    Error::Internal(format!("a selection that was just written: {reason}"))
}

/// Gives a folder its name, unless another process did so with its own meanwhile.
fn named(made: &Path, folder: &Path, scratch: &Scratch) -> Result<Kept> {
    let kept = opened(made).map_err(unreadable)?;
    if fs::rename(made, folder).is_ok() {
        return Ok(kept);
    }
    if let Ok(theirs) = opened(folder) {
        return Ok(theirs);
    }
    // It is damaged, and goes with the scratch folder.
    let _ = fs::rename(folder, scratch.path().join("damaged"));
    // If this fails, too, the next one makes it again: the mapping stays.
    let _ = fs::rename(made, folder);
    Ok(kept)
}

/// The selection of a folder, or why it is none.
fn opened(folder: &Path) -> Result<Kept, String> {
    let text = fs::read_to_string(folder.join(ABOUT)).map_err(|error| error.to_string())?;
    let about: About = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let file = RowsFile::of(compared(&folder.join(ROWS), &about.rows)?)?;
    let rows = file.row_count();
    let units = match &about.groups {
        None => Units::Rows(rows),
        Some(content) => Units::Groups(ends(&folder.join(GROUPS), content, rows)?),
    };
    let unit_count = match &units {
        Units::Rows(rows) => *rows,
        Units::Groups(ends) => ends.len() as u64,
    };
    let families = about.families.as_ref();
    let families = families.map(|content| ends(&folder.join(FAMILIES), content, unit_count));
    let families = families.transpose()?;
    Ok(Kept {
        file,
        units,
        families,
        _own: None,
    })
}

/// Ends of ranges that are `count` things in all.
fn ends(path: &Path, content: &Content, count: u64) -> Result<Arc<[u64]>, String> {
    let ends = compared(path, content)?;
    let ends = ends.as_ref().as_chunks::<8>().0.iter();
    let ends: Arc<[u64]> = ends.map(|end| u64::from_le_bytes(*end)).collect();
    if ends.last().copied().unwrap_or_default() != count || !ends.is_sorted() {
        return Err("groups that are not those of its rows".to_owned());
    }
    Ok(ends)
}

fn compared(path: &Path, content: &Content) -> Result<Mapped, String> {
    let mapped = Mapped::open(path).map_err(|error| error.to_string())?;
    if Content::of(mapped.as_ref()) != *content {
        return Err(format!("{}: not what was written", path.display()));
    }
    Ok(mapped)
}

/// Notes that a selection is in use: when is the time of its description.
fn used(folder: &Path) {
    let about = tsql_folders::open_own(&folder.join(ABOUT), fs::File::options().append(true));
    // What cannot be noted goes a little earlier.
    let _ = about.and_then(|about| about.set_modified(SystemTime::now()));
}

/// Removes what was not used for longest, so that at most `most` bytes are left beside `new`.
fn clean(place: &Path, new: &Path, most: u64, scratch: &Scratch) {
    let mut all = listed(place);
    all.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    let newest = all.iter().find(|(.., folder)| folder == new);
    let mut bytes = newest.map_or(0, |(_, bytes, _)| *bytes);
    for (number, (_, size, folder)) in all.iter().enumerate() {
        if folder == new {
            continue;
        }
        bytes = bytes.saturating_add(*size);
        if bytes > most {
            // Renamed first: nobody finds half of one.
            let going = scratch.path().join(format!("going-{number}"));
            let _ = fs::rename(folder, going);
        }
    }
}

/// Is a folder one that [`kept`] has made? All else in a cache is somebody's own, whatever it is called.
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

/// The selections of a cache: when each was used, its bytes, its folder.
fn listed(place: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
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
