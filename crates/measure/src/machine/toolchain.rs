//! Compiler of kernels, as included in records.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A compiler, its version and its fixed flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// Path; the home folder, which identifies a person, is replaced by `~`.
    pub(crate) path: String,
    /// First line of its `--version` output.
    pub(crate) version_line: String,
    pub(crate) flags: Vec<String>,
}

impl Toolchain {
    /// Describes the compiler at `path`. The home folder and folders with the user's name are removed from
    /// all fields.
    pub fn new(path: &Path, version_line: &str, flags: &[String]) -> Self {
        let home = std::env::var("HOME").unwrap_or_default();
        let user = std::env::var("USER").unwrap_or_default();
        Self::anonymized(
            &home,
            &user,
            &path.display().to_string(),
            version_line,
            flags,
        )
    }

    fn anonymized(
        home: &str,
        user: &str,
        path: &str,
        version_line: &str,
        flags: &[String],
    ) -> Self {
        let home = home.trim_end_matches('/');
        let user = format!("/{user}/");
        let hide = |text: &str| {
            let text = if home.is_empty() {
                text.to_owned()
            } else {
                text.replace(home, "~")
            };
            if user.len() > 2 {
                text.replace(&user, "/~/")
            } else {
                text
            }
        };
        Self {
            path: hide(path),
            version_line: hide(version_line.lines().next().unwrap_or_default().trim()),
            flags: flags.iter().map(|flag| hide(flag)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_are_removed() {
        let flags = [
            "-I/home/ann/include".to_owned(),
            "-O3".to_owned(),
            "-L/data/ann/lib".to_owned(),
        ];
        let toolchain = Toolchain::anonymized(
            "/home/ann/",
            "ann",
            "/home/ann/bin/cc",
            "cc 14.1\nCopyright",
            &flags,
        );
        assert_eq!(toolchain.path, "~/bin/cc");
        assert_eq!(toolchain.version_line, "cc 14.1");
        assert_eq!(toolchain.flags, ["-I~/include", "-O3", "-L/data/~/lib"]);
        assert_eq!(
            Toolchain::anonymized("/", "", "/usr/bin/cc", "", &[]).path,
            "/usr/bin/cc"
        );
    }
}
