//! Checks of output paths: they are local, and outside of stores.

use std::fs::File;
use std::path::{Path, PathBuf};

use tsql_folders::OutputFile;
use tsql_formats::marker::is_store;

use tsql_error::{Error, Result};

/// Opens a local file for writing, as [`OutputFile::create`] does.
///
/// # Errors
/// As [`check_output`], and [`Error::Io`] if it cannot be written.
pub fn create_output(path: &Path) -> Result<(OutputFile, File)> {
    check_output(path)?;
    Ok(OutputFile::create(path)?)
}

/// Writes a local file from memory, as [`tsql_folders::write_file`] does.
///
/// # Errors
/// As [`check_output`], and [`Error::Io`] if it cannot be written.
pub fn write_output(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    check_output(path)?;
    Ok(tsql_folders::write_file(path, bytes)?)
}

/// Rejects the path of a local output if it is a URL, or in a store.
///
/// # Errors
/// [`Error::InvalidLocation`] for a URL, and as [`check_outside`].
pub fn check_output(path: &Path) -> Result<()> {
    if let Some(text) = path.to_str().filter(|text| is_url(text)) {
        return Err(Error::InvalidLocation(format!(
            "`{text}` is a URL, expected a local path\n\
             hint: write a local file and upload it, or write a result by \
             COPY (SELECT ...) TO 's3://BUCKET/FILE.parquet'"
        )));
    }
    check_outside(path)
}

/// Rejects a path in a store. Table readers could mistake the file for a data file, and copies and deletions of the
/// store would include it. A URL is in no local store.
///
/// # Errors
/// [`Error::Source`], which names the store.
pub fn check_outside(path: &Path) -> Result<()> {
    if path.to_str().is_some_and(is_url) {
        return Ok(());
    }
    let real = resolve_links(path);
    match real.ancestors().find(|folder| is_store(folder)) {
        None => Ok(()),
        Some(store) => Err(Error::Source {
            location: path.display().to_string(),
            reason: format!(
                "it belongs to the store `{}`, expected a path outside of the store",
                store.display()
            ),
        }),
    }
}

fn is_url(text: &str) -> bool {
    text.contains("://")
}

/// Resolves links in a path, as far as it exists.
fn resolve_links(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for folder in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), absolute.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_formats::marker::NAME;

    #[test]
    fn outputs_are_local_and_outside_of_stores() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("lab");
        std::fs::create_dir_all(store.join("records/new")).unwrap();
        std::fs::write(store.join(NAME), "format = 1\n").unwrap();
        for inside in [
            "lab",
            "lab/x.csv",
            "lab/records/new/x.csv",
            "lab/no/such/x.csv",
        ] {
            let error = write_output(&folder.path().join(inside), "").unwrap_err();
            assert!(
                error.to_string().contains("it belongs to the store `"),
                "{error}"
            );
        }
        assert!(!store.join("x.csv").exists());
        write_output(&folder.path().join("lab.csv"), "").unwrap();
        let error = create_output(Path::new("s3://bucket/x.csv")).unwrap_err();
        assert!(error.to_string().contains("is a URL"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_into_a_store_is_inside() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("lab");
        std::fs::create_dir_all(store.join("records")).unwrap();
        std::fs::write(store.join(NAME), "format = 1\n").unwrap();
        std::os::unix::fs::symlink(store.join("records"), folder.path().join("link")).unwrap();
        assert!(check_output(&folder.path().join("link/x.csv")).is_err());
    }
}
