//! Where sources come back: each under its own name, as far as there can be a file of that name.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use tsql_formats::exported::SIDECAR;
use tsql_formats::naming::{self, numbered};

use crate::formats::source::SourceFile;

/// Bytes of a part of a path at most.
const PART_BYTES: usize = 255;

/// Bytes that are left of a longer one.
const KEPT_BYTES: usize = 200;

/// The path of each source, below the folder of the export: no two have the same, and none is a folder
/// of another. The same sources get the same paths, whichever of them are written.
pub(super) struct Names(HashMap<i64, PathBuf>);

impl Names {
    pub(super) fn of(sources: &[SourceFile]) -> Self {
        let wanted = |source: &SourceFile| plain(&source.name);
        let folders: HashSet<PathBuf> = sources
            .iter()
            .flat_map(|source| {
                let path = wanted(source);
                let folders: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
                folders
            })
            .collect();
        let mut taken = HashSet::from([PathBuf::from(SIDECAR)]);
        let mut names = HashMap::with_capacity(sources.len());
        // Names that need no change come first.
        for exact in [true, false] {
            for source in sources {
                let path = wanted(source);
                let text = naming::readable_path(&path);
                if exact != (text == source.name) || names.contains_key(&source.source_id) {
                    continue;
                }
                let free = |path: &PathBuf| !folders.contains(path) && !taken.contains(path);
                let copies = (1..).map(|copy| plain(&numbered(&text, copy)));
                let Some(path) = copies.into_iter().find(free) else {
                    continue;
                };
                taken.insert(path.clone());
                names.insert(source.source_id, path);
            }
        }
        Self(names)
    }

    /// Where a source comes back.
    pub(super) fn path(&self, source: &SourceFile) -> PathBuf {
        let path = self.0.get(&source.source_id).cloned();
        path.unwrap_or_else(|| plain(&source.name))
    }
}

/// A path that stays below the folder that it is joined to, whatever the name says.
pub(crate) fn plain(name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in naming::parts(&name.replace('\0', "%00")) {
        if part == ".." {
            path.push("_");
        } else if !part.is_empty() && part != "." {
            path.push(short(part));
        }
    }
    if path.as_os_str().is_empty() {
        PathBuf::from("_")
    } else {
        path
    }
}

/// A part that a file system takes: of a long one the beginning and a hash of all of it.
fn short(part: OsString) -> OsString {
    let bytes = part.as_encoded_bytes();
    if bytes.len() <= PART_BYTES {
        return part;
    }
    let hash = twox_hash::XxHash3_64::oneshot(bytes);
    let text = naming::readable(OsStr::new(&part));
    let end = (0..=KEPT_BYTES)
        .rev()
        .find(|&end| text.is_char_boundary(end));
    let kept = text.get(..end.unwrap_or(0)).unwrap_or_default();
    OsString::from(format!("{kept}~{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_the_folder() {
        for (name, path) in [
            ("a/b.json", "a/b.json"),
            ("../../etc/passwd", "_/_/etc/passwd"),
            ("/etc/passwd", "etc/passwd"),
            ("..", "_"),
            ("/", "_"),
            ("a/./b/../c", "a/b/_/c"),
            ("a\0b", "a%00b"),
        ] {
            assert_eq!(plain(name), Path::new(path));
        }
    }

    #[test]
    fn long_parts_are_cut_and_differ() {
        let (one, other) = ("\u{e4}".repeat(200) + "1", "\u{e4}".repeat(200) + "2");
        let (one, other) = (plain(&one), plain(&other));
        assert_ne!(one, other);
        assert!(one.as_os_str().len() <= PART_BYTES);
    }
}
