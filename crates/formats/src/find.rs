//! Finds the files of an argument: a file, the files below a directory, or the matches of a pattern.
//!
//! Each folder is walked once, by its real path. A link to a visited folder adds nothing, so cycles end. Links to other
//! folders are followed after the real folders, under the name of the target. Hidden files and folders are skipped, and
//! so are stores and everything inside of them.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file_handle::{FileHandle, is_pipe};
use crate::input::Input;
use crate::marker::is_store;
use crate::naming;

/// Result of resolving an argument.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files.
    pub inputs: Vec<Input>,
    /// Stores that were skipped.
    pub stores: Vec<String>,
    /// Unreadable folders: path and reason.
    pub failed: Vec<(String, String)>,
}

/// Returns the files of an argument: the file itself, the files below a directory in the order of their names, or the
/// matches of a pattern.
pub fn find_inputs(argument: &str) -> Result<FoundFiles> {
    let mut walk = Walk::default();
    let path = Path::new(argument);
    if path.exists() {
        if fs::metadata(path).is_ok_and(|meta| is_pipe(meta.file_type())) {
            walk.add_pipe(path, argument)?;
            return Ok(walk.files);
        }
        if let Some(store) = enclosing_store(path)? {
            return Err(Error::Source {
                location: argument.to_owned(),
                reason: format!(
                    "the path is part of the store `{}`, and stores are not ingested\n\
                     hint: `tsql export files -o DIR` writes the files that a store was built from",
                    store.display()
                ),
            });
        }
        walk.add_argument(path, argument)?;
        return Ok(walk.files);
    }
    let missing = |reason: String| Error::Source {
        location: argument.to_owned(),
        reason,
    };
    let mut has_match = false;
    for entry in glob::glob(argument).map_err(|error| missing(error.to_string()))? {
        has_match = true;
        let entry = entry.map_err(|error| missing(error.to_string()))?;
        let display_path = entry.to_string_lossy().into_owned();
        if entry.exists() && enclosing_store(&entry)?.is_some() {
            walk.files.stores.push(display_path);
        } else {
            walk.add_argument(&entry, &display_path)?;
        }
    }
    if !has_match {
        return Err(missing("no such file, directory or match".to_owned()));
    }
    Ok(walk.files)
}

/// Folder that a link points to.
struct Link {
    real: PathBuf,
    /// Name in the store of the folder that contains the link.
    parent_name: String,
    path: String,
}

#[derive(Default)]
struct Walk {
    files: FoundFiles,
    /// Real paths of visited folders.
    visited: HashSet<PathBuf>,
    links: VecDeque<Link>,
}

impl Walk {
    /// Adds an argument: a file, or a folder with everything below it.
    fn add_argument(&mut self, path: &Path, display_path: &str) -> Result<()> {
        let real = path.canonicalize().map_err(Error::io(path))?;
        let name = file_name(&real);
        if !real.is_dir() {
            self.files.inputs.push(Input {
                explicit: true,
                ..Input::new(real, display_path.to_owned(), name)
            });
            return Ok(());
        }
        fs::read_dir(&real).map_err(Error::io(path))?;
        // `.` and `..` are not names, and the name of the current directory is not a platform either.
        let current_directory =
            std::env::current_dir().and_then(|current_directory| current_directory.canonicalize());
        let is_named = path.file_name().is_some() && current_directory.ok().as_ref() != Some(&real);
        let display_path = display_path.trim_end_matches('/');
        let platform = is_named.then(|| name.clone());
        self.add_folder(&real, &name, display_path, platform.as_deref());
        while let Some(link) = self.links.pop_front() {
            let name = file_name(&link.real);
            let name_in_store = format!("{}/{name}", link.parent_name);
            self.add_folder(&link.real, &name_in_store, &link.path, Some(&name));
        }
        Ok(())
    }

    /// Adds a pipe. It is read to its end here because it cannot be opened twice. A shell's pipe (`/dev/fd/63`) has no
    /// name.
    fn add_pipe(&mut self, path: &Path, display_path: &str) -> Result<()> {
        let handle = FileHandle::open(path)?;
        let real = path.canonicalize().ok();
        let name = real.as_deref().map(file_name);
        let file = real.unwrap_or_else(|| path.to_owned());
        let input = Input::from_pipe(handle, file, display_path, name)?;
        self.files.inputs.push(input);
        Ok(())
    }

    /// Adds everything below a folder with this real path. `platform` applies to the files directly in it.
    fn add_folder(&mut self, real: &Path, name: &str, path: &str, platform: Option<&str>) {
        if !self.visited.insert(real.to_owned()) {
            return;
        }
        let listed = fs::read_dir(real).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                self.files.failed.push((path.to_owned(), error.to_string()));
                return;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let part = naming::part_to_text(&entry.file_name());
            if part.starts_with('.') {
                continue;
            }
            let (name_in_store, path) = (format!("{name}/{part}"), format!("{path}/{part}"));
            let file = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let meta = fs::metadata(&file);
            if meta.as_ref().is_ok_and(fs::Metadata::is_dir) {
                if is_store(&file) {
                    self.files.stores.push(path);
                } else if is_link {
                    self.add_link(&file, name, path);
                } else {
                    self.add_folder(&file, &name_in_store, &path, Some(&part));
                }
            } else if meta.map_or(true, |meta| meta.is_file()) {
                self.files.inputs.push(Input {
                    directory: platform.map(str::to_owned),
                    ..Input::new(file, path, name_in_store)
                });
            }
        }
    }

    fn add_link(&mut self, file: &Path, parent_name: &str, path: String) {
        match file.canonicalize() {
            Ok(real) => self.links.push_back(Link {
                real,
                parent_name: parent_name.to_owned(),
                path,
            }),
            Err(error) => self.files.failed.push((path, error.to_string())),
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(naming::part_to_text)
        .unwrap_or_default()
}

/// Returns the store that contains the path or is the path.
fn enclosing_store(path: &Path) -> Result<Option<PathBuf>> {
    let real = path.canonicalize().map_err(Error::io(path))?;
    let store = real.ancestors().find(|folder| is_store(folder));
    Ok(store.map(Path::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    /// Names and platforms of the files found.
    fn found_paths(folder: &Path) -> Vec<(String, Option<String>)> {
        let files = find_inputs(&folder.to_string_lossy()).unwrap();
        let inputs = files.inputs.into_iter();
        inputs.map(|input| (input.name, input.directory)).collect()
    }

    fn on_platform(name: &str, platform: &str) -> (String, Option<String>) {
        (name.to_owned(), Some(platform.to_owned()))
    }

    #[cfg(unix)]
    #[test]
    fn links_to_folders_are_followed_once_by_their_real_path() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("logs"), folder.path().join("other"));
        write(&root, "b-real/x.json");
        write(&other, "y.json");
        symlink("b-real", root.join("a-latest")).unwrap();
        symlink(".", root.join("again")).unwrap();
        symlink("../other", root.join("c-link")).unwrap();
        symlink("../other", root.join("d-link")).unwrap();
        symlink("../logs", other.join("back")).unwrap();
        assert_eq!(
            found_paths(&root),
            [
                on_platform("logs/b-real/x.json", "b-real"),
                on_platform("logs/other/y.json", "other")
            ]
        );
    }

    #[test]
    fn stores_and_hidden_files_are_no_sources() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("logs");
        write(&root, "a/x.json");
        write(&root, ".git/config");
        write(&root, "s/records/part.parquet");
        fs::write(root.join("s/tsql.toml"), "format = 1\n").unwrap();
        // Bucket settings do not make a folder a store.
        fs::write(root.join("a/tsql.toml"), "[bucket.b]\n").unwrap();
        assert_eq!(
            found_paths(&root),
            [
                on_platform("logs/a/tsql.toml", "a"),
                on_platform("logs/a/x.json", "a")
            ]
        );
        for path in ["s", "s/records", "s/records/part.parquet"] {
            let error = find_inputs(&root.join(path).to_string_lossy()).unwrap_err();
            assert!(
                error.to_string().contains("stores are not ingested"),
                "{error}"
            );
        }
        let skipped = find_inputs(&root.join("s/records/*").to_string_lossy()).unwrap();
        assert!(skipped.inputs.is_empty());
        assert_eq!(skipped.stores.len(), 1);
    }

    #[test]
    fn a_folder_gives_a_platform_only_if_the_argument_names_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "p/x.json");
        let dotted = find_inputs(&folder.path().join("p/sub/..").to_string_lossy());
        assert!(dotted.is_err(), "there is no `sub`");
        write(folder.path(), "p/sub/y.json");
        let dotted = find_inputs(&folder.path().join("p/sub/..").to_string_lossy()).unwrap();
        let platforms: Vec<_> = dotted.inputs.iter().map(|i| i.directory.clone()).collect();
        assert_eq!(platforms, [Some("sub".to_owned()), None]);
        let file = find_inputs(&folder.path().join("p/x.json").to_string_lossy()).unwrap();
        assert_eq!(file.inputs.first().unwrap().directory, None);
    }
}
