//! Checksum list in the format of `sha256sum`.

use std::fmt::Write as _;

use object_store::path::Path;

use tsql_error::{Error, Result};

/// File name.
pub const NAME: &str = "SHA256SUMS";

/// Number of digits of a checksum.
const DIGITS: usize = 64;

/// A file and its checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    /// In hex, lower case.
    pub sha256: String,
}

/// Formats the list, sorted by path.
pub(crate) fn format_list(mut entries: Vec<Entry>) -> String {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let lines = entries
        .iter()
        .map(|entry| format!("{}  {}\n", entry.sha256, entry.path));
    lines.collect()
}

/// Parses a list.
///
/// # Errors
/// [`Error::Source`] for an invalid line.
pub fn parse(bytes: &[u8]) -> Result<Vec<Entry>> {
    let text = String::from_utf8_lossy(bytes);
    let entry = |(number, line): (usize, &str)| {
        let parts = line.split_once("  ").or_else(|| line.split_once(" *"));
        let entry = parts.filter(|(sha256, path)| {
            let is_hex = sha256.chars().all(|c| c.is_ascii_hexdigit());
            sha256.len() == DIGITS && is_hex && Path::parse(path).is_ok()
        });
        let (sha256, path) = entry.ok_or_else(|| Error::Source {
            location: NAME.to_owned(),
            reason: format!("line {} is not a checksum and a path", number + 1),
        })?;
        Ok(Entry {
            path: path.to_owned(),
            sha256: sha256.to_ascii_lowercase(),
        })
    };
    text.lines().enumerate().map(entry).collect()
}

/// Formats bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let entry = |path: &str| Entry {
            path: path.to_owned(),
            sha256: hex(&[0xab; 32]),
        };
        let written = format_list(vec![entry("b"), entry("a/c")]);
        assert_eq!(
            written.lines().next().unwrap(),
            format!("{}  a/c", "ab".repeat(32))
        );
        assert_eq!(
            parse(written.as_bytes()).unwrap(),
            [entry("a/c"), entry("b")]
        );
        let starred = format!("{} *b\n", "AB".repeat(32));
        assert_eq!(parse(starred.as_bytes()).unwrap(), [entry("b")]);
        for wrong in ["", "x", "ab  c"].map(|line| format!("{line}\n")) {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        assert!(parse(format!("{}  ../x\n", "ab".repeat(32)).as_bytes()).is_err());
    }
}
