//! What a file looks like that no reader takes: in words, for whoever gave it.

use std::fmt;

/// What a file looks like, and what may be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks {
    words: String,
    /// A way out.
    pub hint: Option<&'static str>,
}

impl Looks {
    /// Something in these words, without a way out.
    pub fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            hint: None,
        }
    }
}

impl Looks {
    /// A file without anything that tells what it is.
    pub fn blank() -> Self {
        Self::new("nothing, or nothing but comments")
    }
}

impl fmt::Display for Looks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words)
    }
}

const UNPACK: &str = "unpack it, and ingest the folder";

/// First bytes of well-known files.
const MAGIC: [(&[u8], &str, Option<&str>); 18] = [
    (b"PK\x03\x04", "a zip archive", Some(UNPACK)),
    (b"\xfd7zXZ\0", "a file compressed with xz", Some(UNPACK)),
    (b"BZh", "a file compressed with bzip2", Some(UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", Some(UNPACK)),
    (b"\x80\x02", "a Python pickle", None),
    (b"\x80\x03", "a Python pickle", None),
    (b"\x80\x04", "a Python pickle", None),
    (b"\x80\x05", "a Python pickle", None),
    (b"\x89PNG\r\n", "a PNG picture", None),
    (b"\xff\xd8\xff", "a JPEG picture", None),
    (b"GIF8", "a GIF picture", None),
    (b"%PDF-", "a PDF document", None),
    (b"\x7fELF", "a program or library", None),
    (b"\x93NUMPY", "an array of NumPy", None),
    (b"ARROW1", "an Arrow file", None),
    (b"\x89HDF\r\n", "an HDF5 file", None),
    (b"SQLite format 3\0", "an SQLite database", None),
    (b"<svg", "an SVG picture", None),
];

/// What a file is that begins with bytes that everybody knows.
pub(super) fn by_magic(head: &[u8]) -> Option<Looks> {
    let known = MAGIC.iter().find(|(magic, ..)| head.starts_with(magic));
    known.map(|&(_, words, hint)| Looks {
        words: words.to_owned(),
        hint,
    })
}

/// What a file looks like by its text.
pub(super) fn like(head: &[u8]) -> Looks {
    if is_binary(head) {
        return Looks::new("binary data");
    }
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let first: Vec<u8> = first.iter().copied().filter(|&byte| byte != b' ').collect();
    let has = |text: &[u8]| memchr::memmem::find(&first, text).is_some();
    // Later versions are read.
    if first.starts_with(b"{\"i\":[\"") && has(b"\"v\":0.1") {
        return Looks::new("an AutoTVM log (version 0.1)");
    }
    match first.first() {
        Some(b'{' | b'[') => Looks::new("JSON"),
        Some(b'<') => Looks::new("XML or HTML"),
        _ => Looks::new("text"),
    }
}

/// Bytes that no text has, or too many that are no UTF-8.
fn is_binary(head: &[u8]) -> bool {
    let looked = head.get(..8192).unwrap_or(head);
    let odd = |byte: &u8| *byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 12 | 27);
    looked.iter().any(odd)
        || looked
            .utf8_chunks()
            .filter(|c| !c.invalid().is_empty())
            .count()
            > 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_others_are_named() {
        for (head, words) in [
            (
                br#"{"i": ["cuda", "matmul", [], {}, ["matmul"], {"i": 5, "t": "direct", "c": null, "e": []}], "r": [[1.0], 0, 2.0, 3.0], "v": 0.1}"#.as_slice(),
                "an AutoTVM log (version 0.1)",
            ),
            (br#"{"a": 1}"#, "JSON"),
            (b"[1, 2]", "JSON"),
            (b"# words\nmore", "text"),
            ("Prüfung".as_bytes(), "text"),
            (b"a\0b", "binary data"),
        ] {
            assert_eq!(like(head).to_string(), words);
        }
        let known = |head: &[u8]| by_magic(head).unwrap().to_string();
        assert_eq!(known(b"\x80\x04\x95..."), "a Python pickle");
        assert_eq!(known(b"\x89PNG\r\n\x1a\n"), "a PNG picture");
        assert_eq!(known(b"PK\x03\x04"), "a zip archive");
        assert!(by_magic(b"{").is_none());
    }
}
