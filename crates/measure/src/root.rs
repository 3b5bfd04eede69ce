//! Small files in which the system tells about itself (`/proc`, `/sys`, `/etc`), below a prefix.
//!
//! Tests give a folder of their own as the prefix. A file that is missing, unreadable or odd gives
//! `None`: what the system does not tell is not known, which is different from 0.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where the file system is taken to begin.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// The system itself.
    pub(crate) fn system() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A folder that stands for `/`.
    #[cfg(test)]
    pub(crate) fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Whether this is the system itself, where other sources than files can be asked too.
    pub(crate) fn is_system(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// `path` (absolute, as on the system) below the prefix.
    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Whether something of this name is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The text of a file, without blanks around it.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        Some(String::from_utf8(bytes).ok()?.trim().to_owned())
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(path)).ok()
    }

    /// The text of a file where there is any.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// A file that holds one number.
    pub(crate) fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file that holds a list of processors (`0-3,8`).
    pub(crate) fn cpus(&self, path: &str) -> Option<BTreeSet<usize>> {
        parse_cpus(&self.text(path)?)
    }

    /// Names in a folder, sorted; none where there is no such folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }
}

/// The kernel's list format: `0-3,8,10-11`; empty text is the empty list.
///
/// `None` for anything else (`(null)` of an unset `nohz_full` is one).
pub(crate) fn parse_cpus(text: &str) -> Option<BTreeSet<usize>> {
    /// More processors than Linux supports: a larger number is an error, and would fill memory.
    const MOST: usize = 1 << 16;
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// `cpus` in the kernel's list format.
pub(crate) fn cpu_list(cpus: &BTreeSet<usize>) -> String {
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

/// The value after `key` and a colon in a file of such lines (`/proc/self/status`, `/proc/meminfo`).
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// Writes files below `folder`, for tests: `(path, text)`.
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
    fn lists_of_processors_are_the_kernels() {
        let cpus = parse_cpus("0-2,8,10-11\n").unwrap();
        assert_eq!(
            cpus.iter().copied().collect::<Vec<_>>(),
            [0, 1, 2, 8, 10, 11]
        );
        assert_eq!(cpu_list(&cpus), "0-2,8,10-11");
        assert_eq!(parse_cpus("\n").unwrap(), BTreeSet::new());
        for odd in ["(null)", "3-1", "a", "0-99999999999", "-"] {
            assert_eq!(parse_cpus(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_is_missing_or_odd_is_none_and_not_zero() {
        let folder = tempfile::tempdir().unwrap();
        write_files(
            folder.path(),
            &[
                ("/sys/a", "7\n"),
                ("/sys/b", "<unknown>\n"),
                ("/sys/c", "\n"),
            ],
        );
        let root = Root::at(folder.path());
        assert_eq!(root.number::<u64>("/sys/a"), Some(7));
        assert_eq!(root.number::<u64>("/sys/b"), None);
        assert_eq!(root.number::<u64>("/sys/d"), None);
        assert_eq!(root.word("/sys/c"), None);
        assert_eq!(root.names("/sys"), ["a", "b", "c"]);
        assert_eq!(root.names("/none"), Vec::<String>::new());
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "CapEff:\t00ff\nCap:  1\nmodel name\t: X Y\n";
        assert_eq!(field(text, "Cap"), Some("1"));
        assert_eq!(field(text, "model name"), Some("X Y"));
        assert_eq!(field(text, "model"), None);
    }
}
