//! The compiler that builds kernels, as the record names it.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A compiler, its version and the flags that it is always given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// Where it is; the home folder, which names a person, is `~`.
    pub(crate) path: String,
    /// First line of what it prints for `--version`.
    pub(crate) version_line: String,
    pub(crate) flags: Vec<String>,
}

impl Toolchain {
    /// The compiler at `path`, with the home folder and folders of the user's name taken out of everything.
    pub fn new(path: &Path, version_line: &str, flags: &[String]) -> Self {
        let home = std::env::var("HOME").unwrap_or_default();
        let user = std::env::var("USER").unwrap_or_default();
        Self::without_person(
            &home,
            &user,
            &path.display().to_string(),
            version_line,
            flags,
        )
    }

    fn without_person(
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
    fn the_person_is_not_told() {
        let flags = [
            "-I/home/ann/include".to_owned(),
            "-O3".to_owned(),
            "-L/data/ann/lib".to_owned(),
        ];
        let toolchain = Toolchain::without_person(
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
            Toolchain::without_person("/", "", "/usr/bin/cc", "", &[]).path,
            "/usr/bin/cc"
        );
    }
}
