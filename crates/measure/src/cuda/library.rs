//! Location of NVRTC: the library, its built-in functions, and CUDA's headers.
//!
//! An installed toolkit contains all of them. So do the PyPI wheels (`nvidia-cuda-nvrtc` and, for headers,
//! `nvidia-cuda-runtime`), which need no GPU.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// Environment variable with the library's directory; it overrides all other locations.
pub(super) const VARIABLE: &str = "TSQL_NVRTC_DIR";

/// Library names, newest first. CUDA 12 generates code that later drivers load, for fewer devices.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// Library folders below `site-packages`, of the wheels of CUDA 13 and CUDA 12.
const WHEEL_FOLDERS: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// An NVRTC installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Toolkit {
    /// A path, or a bare name for the dynamic linker.
    pub(super) library: PathBuf,
    /// Libraries to open first. Empty for a bare name.
    pub(super) builtins: Vec<PathBuf>,
    /// Directory with `cuda_fp16.h` and other headers.
    pub(super) headers: Option<PathBuf>,
}

/// Search locations of NVRTC, in order.
#[derive(Default)]
pub(super) struct SearchPaths {
    /// Directories with their origin, for messages.
    directories: Vec<(PathBuf, String)>,
    /// Whether to try bare names with the dynamic linker, too.
    by_name: bool,
}

impl SearchPaths {
    /// Search paths from this process's environment.
    pub(super) fn from_environment() -> Self {
        let mut search_paths = Self::default();
        if let Some(directory) = env::var_os(VARIABLE) {
            // An explicit location disables all others.
            search_paths.add(&PathBuf::from(directory), VARIABLE);
            return search_paths;
        }
        for variable in ["CUDA_HOME", "CUDA_PATH"] {
            if let Some(home) = env::var_os(variable) {
                search_paths.add(&PathBuf::from(home), variable);
            }
        }
        for directory in python_search_path() {
            for wheel in WHEEL_FOLDERS {
                let wheel = directory.join(wheel);
                if wheel.is_dir() {
                    search_paths.directories.push((wheel, "python3".to_owned()));
                }
            }
        }
        search_paths.by_name = true;
        search_paths
    }

    fn add(&mut self, directory: &Path, origin: &str) {
        for lib in ["lib64", "lib", ""] {
            self.directories
                .push((directory.join(lib), origin.to_owned()));
        }
    }

    /// Existing libraries, and bare names, whose existence only opening shows.
    pub(super) fn candidates(&self) -> Vec<Toolkit> {
        let in_directories = self.directories.iter().filter_map(|(directory, _)| {
            let found = NAMES.iter().map(|name| directory.join(name));
            let library = found.into_iter().find(|path| path.is_file())?;
            Some(Toolkit {
                library,
                builtins: builtins_files(directory),
                headers: find_headers(directory),
            })
        });
        let mut candidates: Vec<_> = in_directories.collect();
        if self.by_name {
            let system = Path::new("/usr/local/cuda/lib64");
            candidates.extend(NAMES.iter().map(|name| Toolkit {
                library: PathBuf::from(name),
                builtins: Vec::new(),
                headers: find_headers(system),
            }));
        }
        candidates
    }

    /// List of the searched locations, for messages.
    pub(super) fn describe(&self) -> String {
        let mut locations: Vec<String> = self
            .directories
            .iter()
            .map(|(directory, origin)| format!("`{}` ({origin})", directory.display()))
            .collect();
        if self.by_name {
            locations.push("python3's site-packages".to_owned());
            locations.push(format!("the system's libraries ({})", NAMES.join(", ")));
        }
        locations.join(", ")
    }
}

/// Built-in function libraries (`libnvrtc-builtins.so.13.0`), without the `.alt.` variants of other NVRTC
/// builds.
fn builtins_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = directory.read_dir() else {
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with("libnvrtc-builtins.so."))
        })
        .collect();
    paths.sort();
    paths
}

/// Headers of the library in `directory`.
fn find_headers(directory: &Path) -> Option<PathBuf> {
    let up = directory.parent()?;
    [
        Some(up.join("include")),
        up.parent().map(|up| up.join("cuda_runtime/include")),
    ]
    .into_iter()
    .flatten()
    .find(|headers| headers.join("cuda_fp16.h").is_file())
}

/// Module search path of `python3`; empty if there is none.
fn python_search_path() -> Vec<PathBuf> {
    let output = Command::new("python3")
        .args(["-c", r#"import sys; print("\n".join(sys.path))"#])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_library_is_used_with_builtins_and_headers() {
        let root = tempfile::tempdir().unwrap();
        let (lib, include) = (root.path().join("lib"), root.path().join("include"));
        fs::create_dir(&lib).unwrap();
        fs::create_dir(&include).unwrap();
        for name in [
            "libnvrtc.so.12",
            "libnvrtc.so.13",
            "libnvrtc-builtins.so.13.0",
            "libnvrtc-builtins.alt.so.13.0",
        ] {
            fs::write(lib.join(name), "").unwrap();
        }
        fs::write(include.join("cuda_fp16.h"), "").unwrap();
        let mut search_paths = SearchPaths::default();
        search_paths.add(root.path(), VARIABLE);
        let toolkit = Toolkit {
            library: lib.join("libnvrtc.so.13"),
            builtins: vec![lib.join("libnvrtc-builtins.so.13.0")],
            headers: Some(include),
        };
        assert_eq!(search_paths.candidates(), [toolkit]);
    }

    #[test]
    fn an_empty_directory_has_no_candidate_and_is_named() {
        let root = tempfile::tempdir().unwrap();
        let mut search_paths = SearchPaths::default();
        search_paths.add(root.path(), VARIABLE);
        assert!(search_paths.candidates().is_empty());
        let description = search_paths.describe();
        assert!(
            description.contains(&root.path().display().to_string())
                && description.contains(VARIABLE)
        );
    }
}
