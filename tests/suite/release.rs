//! `release/check`: what must agree before a release.

use std::fs;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs the script of a checkout and returns whether it passed, and its messages.
fn check(root: &Path) -> (bool, String) {
    let output = Command::new("bash")
        .arg(root.join("release/check"))
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Copies the files that the script reads.
fn copy_of_checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("release")).unwrap();
    let files = [
        "Cargo.toml",
        "Cargo.lock",
        "CHANGELOG.md",
        "CITATION.cff",
        "pyproject.toml",
        "release/check",
    ];
    for file in files {
        fs::copy(Path::new(ROOT).join(file), folder.path().join(file)).unwrap();
    }
    folder
}

#[test]
fn versions_and_changelog_agree() {
    let (is_ok, messages) = check(Path::new(ROOT));
    assert!(is_ok, "{messages}");
}

#[test]
fn disagreements_are_named() {
    for (file, from, to, message) in [
        (
            "CITATION.cff",
            "version: 0.1.0",
            "version: 0.0.9",
            "version is '0.0.9', expected 0.1.0",
        ),
        (
            "CHANGELOG.md",
            "## [Unreleased]",
            "## [0.0.9]",
            "no section [0.1.0]",
        ),
        (
            "pyproject.toml",
            "dynamic = [\"version\"]",
            "version = \"0.0.9\"",
            "the version must be dynamic",
        ),
        (
            "Cargo.toml",
            "crates/error\", version = \"0.1.0\"",
            "crates/error\", version = \"0.0.9\"",
            "tensorsql-error has version 0.0.9, the workspace 0.1.0",
        ),
        (
            "Cargo.toml",
            "version = \"0.1.0\"\nedition",
            "version = \"0.1\"\nedition",
            "expected MAJOR.MINOR.PATCH",
        ),
    ] {
        let folder = copy_of_checkout();
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let (is_ok, messages) = check(folder.path());
        assert!(!is_ok && messages.contains(message), "{file}: {messages}");
    }
}
