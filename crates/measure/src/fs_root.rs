//! Small system files (`/proc`, `/sys`, `/etc`) below a root folder.
//!
//! Tests use another folder as the root. A missing, unreadable or malformed file is `None`: unknown, which
//! differs from 0.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Root of the file system.
#[derive(Clone, Debug)]
pub(crate) struct FsRoot(PathBuf);

impl FsRoot {
    /// The actual root `/`.
    pub(crate) fn system() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A folder in place of `/`.
    #[cfg(test)]
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Returns whether this is the actual system, which also offers sources other than files.
    pub(crate) fn is_system(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// `path` (absolute) below the root.
    fn resolve(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Returns whether the path exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.resolve(path).exists()
    }

    /// Text of a file, trimmed.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        Some(String::from_utf8(bytes).ok()?.trim().to_owned())
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.resolve(path)).ok()
    }

    /// Text of a file, if it is not empty.
    pub(crate) fn nonempty_text(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// A file with one number.
    pub(crate) fn parse_number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file with a list of processors (`0-3,8`).
    pub(crate) fn cpu_set(&self, path: &str) -> Option<BTreeSet<usize>> {
        parse_cpus(&self.text(path)?)
    }

    /// Names in a folder, sorted; empty if the folder does not exist.
    pub(crate) fn entry_names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.resolve(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }
}

/// Parses the kernel's list format: `0-3,8,10-11`. Empty text is the empty list.
///
/// `None` for other text, such as `(null)` of an unset `nohz_full`.
pub(crate) fn parse_cpus(text: &str) -> Option<BTreeSet<usize>> {
    /// More processors than Linux supports. A larger number is an error and would exhaust memory.
    const MAX_CPUS: usize = 1 << 16;
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last >= MAX_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Formats `cpus` in the kernel's list format.
pub(crate) fn format_cpus(cpus: &BTreeSet<usize>) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let runs: Vec<_> = runs
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    runs.join(",")
}

/// Value of `key` in a file with lines `key: value` (`/proc/self/status`, `/proc/meminfo`).
pub(crate) fn parse_field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// Writes files `(path, text)` below `folder`, for tests.
#[cfg(test)]
pub(crate) fn write_files(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_lists_use_the_kernel_format() {
        let cpus = parse_cpus("0-2,8,10-11\n").unwrap();
        assert_eq!(
            cpus.iter().copied().collect::<Vec<_>>(),
            [0, 1, 2, 8, 10, 11]
        );
        assert_eq!(format_cpus(&cpus), "0-2,8,10-11");
        assert_eq!(parse_cpus("\n").unwrap(), BTreeSet::new());
        for malformed in ["(null)", "3-1", "a", "0-99999999999", "-"] {
            assert_eq!(parse_cpus(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn missing_and_malformed_files_are_none_not_zero() {
        let folder = tempfile::tempdir().unwrap();
        write_files(
            folder.path(),
            &[
                ("/sys/a", "7\n"),
                ("/sys/b", "<unknown>\n"),
                ("/sys/c", "\n"),
            ],
        );
        let root = FsRoot::new(folder.path());
        assert_eq!(root.parse_number::<u64>("/sys/a"), Some(7));
        assert_eq!(root.parse_number::<u64>("/sys/b"), None);
        assert_eq!(root.parse_number::<u64>("/sys/d"), None);
        assert_eq!(root.nonempty_text("/sys/c"), None);
        assert_eq!(root.entry_names("/sys"), ["a", "b", "c"]);
        assert_eq!(root.entry_names("/none"), Vec::<String>::new());
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "CapEff:\t00ff\nCap:  1\nmodel name\t: X Y\n";
        assert_eq!(parse_field(text, "Cap"), Some("1"));
        assert_eq!(parse_field(text, "model name"), Some("X Y"));
        assert_eq!(parse_field(text, "model"), None);
    }
}
