//! Paths of exported sources: their own names, as far as the file system permits.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use tsql_adapters::formats::source::SourceFile;
use tsql_formats::export_manifest::MANIFEST_FILE;
use tsql_formats::naming::{self, numbered_name};

/// Maximum length of a path component in bytes.
const PART_BYTES: usize = 255;

/// Bytes that are kept of a longer component.
const KEPT_BYTES: usize = 200;

/// Path of each source, relative to the export folder. All paths are distinct, and none is a folder of another. The
/// paths do not depend on which sources are written.
pub(super) struct ExportPaths(HashMap<i64, PathBuf>);

impl ExportPaths {
    pub(super) fn assign(sources: &[SourceFile]) -> Self {
        let wanted = |source: &SourceFile| relative_path(&source.name);
        let folders: HashSet<PathBuf> = sources
            .iter()
            .flat_map(|source| {
                let path = wanted(source);
                let folders: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
                folders
            })
            .collect();
        let mut taken = HashSet::from([PathBuf::from(MANIFEST_FILE)]);
        let mut names = HashMap::with_capacity(sources.len());
        // Names that need no change come first.
        for exact in [true, false] {
            for source in sources {
                let path = wanted(source);
                let text = naming::path_to_text(&path);
                if exact != (text == source.name) || names.contains_key(&source.source_id) {
                    continue;
                }
                let free = |path: &PathBuf| !folders.contains(path) && !taken.contains(path);
                let copies = (1..).map(|copy| relative_path(&numbered_name(&text, copy)));
                let Some(path) = copies.into_iter().find(free) else {
                    continue;
                };
                taken.insert(path.clone());
                names.insert(source.source_id, path);
            }
        }
        Self(names)
    }

    /// Returns the path of a source.
    pub(super) fn path(&self, source: &SourceFile) -> PathBuf {
        let path = self.0.get(&source.source_id).cloned();
        path.unwrap_or_else(|| relative_path(&source.name))
    }
}

/// Returns a relative path without `..`, for any name.
pub fn relative_path(name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in naming::path_parts(&name.replace('\0', "%00")) {
        if part == ".." {
            path.push("_");
        } else if !part.is_empty() && part != "." {
            path.push(shorten_component(part));
        }
    }
    if path.as_os_str().is_empty() {
        PathBuf::from("_")
    } else {
        path
    }
}

/// Shortens a long path component to a prefix and a hash of all of it.
fn shorten_component(part: OsString) -> OsString {
    let bytes = part.as_encoded_bytes();
    if bytes.len() <= PART_BYTES {
        return part;
    }
    let hash = twox_hash::XxHash3_64::oneshot(bytes);
    let text = naming::part_to_text(OsStr::new(&part));
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
            assert_eq!(relative_path(name), Path::new(path));
        }
    }

    #[test]
    fn long_parts_are_cut_and_differ() {
        let (one, other) = ("\u{e4}".repeat(200) + "1", "\u{e4}".repeat(200) + "2");
        let (one, other) = (relative_path(&one), relative_path(&other));
        assert_ne!(one, other);
        assert!(one.as_os_str().len() <= PART_BYTES);
    }
}
