//! Completion of file names.

use std::path::{MAIN_SEPARATOR, Path};

use tsql_dialect::completion::Candidate;

/// Returns the files and folders with a path that begins with `path`; a folder ends in a slash.
pub(super) fn beginning_with(path: &str) -> Vec<Candidate> {
    let paths = paths(path);
    paths
        .into_iter()
        .map(|path| Candidate::new(path, ""))
        .collect()
}

/// Returns the same as [`beginning_with`], with a quote at the end of each file name.
pub(super) fn quote(path: &str) -> Vec<Candidate> {
    let paths = paths(path)
        .into_iter()
        .map(|path| match path.ends_with(MAIN_SEPARATOR) {
            true => path,
            false => path + "'",
        });
    paths.map(|path| Candidate::new(path, "")).collect()
}

fn paths(path: &str) -> Vec<String> {
    let (folder, name) = match path.rsplit_once(MAIN_SEPARATOR) {
        Some((folder, name)) => (format!("{folder}{MAIN_SEPARATOR}"), name),
        None => (String::new(), path),
    };
    let directory = match folder.as_str() {
        "" => Path::new("."),
        folder => Path::new(folder),
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut found = Vec::new();
    for entry in entries.filter_map(std::result::Result::ok) {
        let Ok(own) = entry.file_name().into_string() else {
            continue;
        };
        let is_hidden = own.starts_with('.') && !name.starts_with('.');
        if is_hidden || !own.starts_with(name) || own.contains(char::is_control) {
            continue;
        }
        let mut path = format!("{folder}{own}");
        if entry.path().is_dir() {
            path.push(MAIN_SEPARATOR);
        }
        found.push(path);
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_found_hidden_ones_only_on_request() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.csv", "b.csv", ".hidden"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        std::fs::create_dir(directory.path().join("all")).unwrap();
        let folder = directory.path().to_str().unwrap();
        let found = |name: &str| paths(&format!("{folder}/{name}"));
        assert_eq!(
            found("a"),
            [format!("{folder}/a.csv"), format!("{folder}/all/")]
        );
        assert_eq!(found("").len(), 3);
        assert_eq!(found(".h"), [format!("{folder}/.hidden")]);
        let first = quote(&format!("{folder}/a"));
        assert_eq!(first[0], Candidate::new(format!("{folder}/a.csv'"), ""));
        assert!(paths("/no/such/folder/x").is_empty());
    }
}
