//! Incremental listing of the end of a log on a local disk.
//!
//! Versions have no gaps, and a folder can only be listed completely. In a log with a hundred thousand entries, looking
//! up the ten after the last checkpoint by name keeps a commit as cheap as in an empty store.

use std::fs::Metadata;
use std::io;
use std::path::Path as FilePath;

use object_store::path::Path;
use tsql_folders::read_regular;

use crate::log_files::entries::{FOLDER, LAST_CHECKPOINT, checkpoint_name, entry_name};

/// Number of versions after the last existing one that are looked up. If one of them exists, an earlier one is lost,
/// and the folder is listed, so readers see the gap.
const BEHIND: u64 = 20;

/// The same number for checks before every query.
const FEW_BEHIND: u64 = 3;

/// Returns the first version that a listing after `offset` shows, if it starts at a version of a log.
pub(crate) fn first(prefix: Option<&Path>, offset: &Path) -> Option<u64> {
    let folder = prefix?.filename()?;
    let (version, is_after) = match offset.filename()?.strip_suffix(".json") {
        Some(version) => (version, 1),
        None => (offset.filename()?, 0),
    };
    let is_version = version.len() == 20 && version.bytes().all(|byte| byte.is_ascii_digit());
    if folder != FOLDER || !is_version {
        return None;
    }
    version.parse::<u64>().ok()?.checked_add(is_after)
}

/// Returns entries and checkpoints of a log from a version on, sorted by name. `None` if the folder must be listed: the
/// version before does not exist either, a checkpoint has several parts, as other programs write them, or a version is
/// lost.
pub(crate) fn files_from(
    folder: &FilePath,
    first: u64,
) -> io::Result<Option<Vec<(String, Metadata)>>> {
    if has_parts(folder)? {
        return Ok(None);
    }
    let there = |name: String| match std::fs::metadata(folder.join(&name)) {
        Ok(metadata) => Ok(Some((name, metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let of = |version: u64| -> io::Result<Vec<(String, Metadata)>> {
        let names = [checkpoint_name(version), entry_name(version)];
        let found = names.map(there).into_iter();
        Ok(found
            .collect::<io::Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    };
    let mut found = of(first)?;
    let begins = match first.checked_sub(1) {
        _ if !found.is_empty() => true,
        Some(before) => !of(before)?.is_empty(),
        None => false,
    };
    if !begins {
        return Ok(None);
    }
    let mut next = first;
    if !found.is_empty() {
        loop {
            next += 1;
            let more = of(next)?;
            // The entry of a checkpoint's version exists, unless it is the first remaining one.
            if !more.iter().any(|(name, _)| *name == entry_name(next)) {
                break;
            }
            found.extend(more);
        }
    }
    for version in next..next + BEHIND {
        if !of(version)?.is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// Returns whether this is certainly the newest version of the table in a folder. `None`: the table has no version.
pub(crate) fn is_newest(table: &FilePath, version: Option<u64>) -> bool {
    let log = table.join(FOLDER);
    let is_there = |version: u64| log.join(entry_name(version)).try_exists();
    let is_missing = |version: u64| matches!(is_there(version), Ok(false));
    match version {
        None => matches!(log.try_exists(), Ok(false)),
        Some(version) => {
            matches!(is_there(version), Ok(true))
                && (version + 1..=version + FEW_BEHIND).all(is_missing)
        }
    }
}

/// Returns whether the last checkpoint has several files.
fn has_parts(folder: &FilePath) -> io::Result<bool> {
    let hint = match read_regular(&folder.join(LAST_CHECKPOINT)) {
        Ok(hint) => hint,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let hint: Option<serde_json::Value> = serde_json::from_slice(&hint).ok();
    let is_plain = hint.is_some_and(|hint| {
        ["parts", "v2Checkpoint"]
            .iter()
            .all(|name| hint.get(name).is_none_or(serde_json::Value::is_null))
    });
    Ok(!is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &FilePath, first: u64) -> Option<Vec<String>> {
        let found = files_from(folder, first).unwrap()?;
        Some(found.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn a_log_is_followed_from_what_is_there_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let write = |name: String| std::fs::write(folder.join(name), "x").unwrap();
        for version in 8..=11 {
            write(entry_name(version));
        }
        write(checkpoint_name(10));
        let all = |from| (from..=11).map(entry_name);
        assert_eq!(names(folder, 11), Some(all(11).collect()));
        let mut from_ten: Vec<String> = all(10).collect();
        from_ten.insert(0, checkpoint_name(10));
        assert_eq!(names(folder, 10), Some(from_ten));
        assert_eq!(names(folder, 12), Some(Vec::new()), "nothing new");
        // Cleaned up, or never existed.
        for first in [0, 7, 13] {
            assert_eq!(names(folder, first), None, "{first}");
        }
        // An entry is lost.
        write(entry_name(13));
        assert_eq!(names(folder, 10), None);
        assert_eq!(names(folder, 12), None);
        write(entry_name(12));
        assert_eq!(names(folder, 12), Some((12..=13).map(entry_name).collect()));
        // The entry of the checkpoint was cleaned up with those before it.
        for version in 8..=10 {
            std::fs::remove_file(folder.join(entry_name(version))).unwrap();
        }
        assert_eq!(
            names(folder, 10).unwrap()[..2],
            [checkpoint_name(10), entry_name(11)]
        );
        for (hint, is_followed) in [
            (r#"{"version":10,"size":4}"#, true),
            (r#"{"version":10,"size":4,"parts":null}"#, true),
            (r#"{"version":10,"size":4,"parts":2}"#, false),
            ("{", false),
        ] {
            std::fs::write(folder.join(LAST_CHECKPOINT), hint).unwrap();
            assert_eq!(names(folder, 10).is_some(), is_followed, "{hint}");
        }
    }

    #[test]
    fn the_newest_version_is_known_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path();
        assert!(is_newest(table, None));
        assert!(!is_newest(table, Some(0)));
        std::fs::create_dir(table.join(FOLDER)).unwrap();
        assert!(!is_newest(table, None));
        let write = |version| std::fs::write(table.join(FOLDER).join(entry_name(version)), "x");
        write(7).unwrap();
        assert!(is_newest(table, Some(7)));
        // Cleaned up, or an entry in between is lost.
        assert!(!is_newest(table, Some(6)));
        write(9).unwrap();
        assert!(!is_newest(table, Some(7)));
        assert!(is_newest(table, Some(9)));
    }

    #[test]
    fn only_versions_of_logs_are_followed() {
        let log = Path::from("s/records").join(FOLDER);
        let at = |name: &str| first(Some(&log), &log.clone().join(name));
        assert_eq!(at("00000000000000000012"), Some(12));
        assert_eq!(at("00000000000000000012.json"), Some(13));
        for name in [
            "12",
            "_last_checkpoint",
            "00000000000000000012.checkpoint.parquet",
        ] {
            assert_eq!(at(name), None);
        }
        let other = Path::from("s/records");
        assert_eq!(
            first(Some(&other), &other.clone().join("00000000000000000012")),
            None
        );
        assert_eq!(first(None, &Path::from("00000000000000000012")), None);
    }
}
