//! Descriptions of files that no reader supports, for messages.

use std::fmt;

/// Description of a file with an optional hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDescription {
    text: String,
    /// Hint for the user.
    pub hint: Option<&'static str>,
}

impl FileDescription {
    /// Creates a description without a hint.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            hint: None,
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }
}

impl FileDescription {
    /// Describes a file without any content.
    pub fn empty() -> Self {
        Self::new("no content except comments")
    }
}

impl fmt::Display for FileDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

const UNPACK_HINT: &str = "unpack it, and ingest the folder";

/// Magic bytes of common file types.
const MAGIC: [(&[u8], &str, Option<&str>); 16] = [
    (b"PK\x03\x04", "a zip archive", Some(UNPACK_HINT)),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", Some(UNPACK_HINT)),
    (b"\x80\x02", "a Python pickle", None),
    (b"\x80\x03", "a Python pickle", None),
    (b"\x80\x04", "a Python pickle", None),
    (b"\x80\x05", "a Python pickle", None),
    (b"\x89PNG\r\n", "a PNG image", None),
    (b"\xff\xd8\xff", "a JPEG image", None),
    (b"GIF8", "a GIF image", None),
    (b"%PDF-", "a PDF document", None),
    (b"\x7fELF", "a program or library", None),
    (b"\x93NUMPY", "a NumPy array", None),
    (b"ARROW1", "an Arrow file", None),
    (b"\x89HDF\r\n", "an HDF5 file", None),
    (b"SQLite format 3\0", "an SQLite database", None),
    (b"<svg", "an SVG image", None),
];

/// Describes a file by its magic bytes.
pub(super) fn describe_magic(head: &[u8]) -> Option<FileDescription> {
    let file_type = MAGIC.iter().find(|(magic, ..)| head.starts_with(magic));
    file_type.map(|&(_, text, hint)| FileDescription {
        text: text.to_owned(),
        hint,
    })
}

/// Describes a file by its text.
pub(super) fn describe_text(head: &[u8]) -> FileDescription {
    if let Some(encoding) = wide_encoding(head) {
        return FileDescription::new(format!("text in {encoding}, expected UTF-8"))
            .with_hint(UTF_8_HINT);
    }
    if is_binary(head) {
        return FileDescription::new("binary data");
    }
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    match first.first() {
        Some(b'{' | b'[') => FileDescription::new("JSON"),
        Some(b'<') => FileDescription::new("XML or HTML"),
        _ => FileDescription::new("text"),
    }
}

/// Byte order marks of encodings with wide code units, the longer marks first.
const WIDE_MARKS: [(&[u8], &str); 4] = [
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
];

const UTF_8_HINT: &str = "convert it: iconv -t UTF-8 -f ENCODING FILE";

/// Bytes that are checked for the encoding of a text without a mark.
const ENCODING_SAMPLE_BYTES: usize = 1024;

/// Detects an encoding with wide code units: by its byte order mark, else if every other byte is 0 and the remaining
/// bytes are text.
fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    let by_mark = WIDE_MARKS.iter().find(|(mark, _)| head.starts_with(mark));
    if let Some((_, encoding)) = by_mark {
        return Some(encoding);
    }
    let sample = head.get(..ENCODING_SAMPLE_BYTES).unwrap_or(head);
    let (units, _) = sample.as_chunks::<2>();
    let is_text = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let is_wide = |text: usize, zero: usize| {
        let is_unit = |unit: &[u8; 2]| {
            let bytes = (unit.get(text).copied(), unit.get(zero).copied());
            matches!(bytes, (Some(byte), Some(0)) if is_text(byte))
        };
        units.len() > 1 && units.iter().all(is_unit)
    };
    (is_wide(0, 1) || is_wide(1, 0)).then_some("UTF-16")
}

/// Whether the bytes contain control characters or many invalid UTF-8 sequences.
fn is_binary(head: &[u8]) -> bool {
    let sample = head.get(..8192).unwrap_or(head);
    let is_control = |byte: &u8| *byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 12 | 27);
    sample.iter().any(is_control)
        || sample
            .utf8_chunks()
            .filter(|c| !c.invalid().is_empty())
            .count()
            > 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_wide_units_is_no_binary_data() {
        let text = "{\"i\": 1}\n# Prüfung\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let wide: Vec<u8> = text
            .chars()
            .flat_map(|c| u32::from(c).to_le_bytes())
            .collect();
        let unmarked: Vec<u8> = "[0,1]".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (head, encoding) in [
            ([b"\xff\xfe".as_slice(), &little].concat(), "UTF-16"),
            ([b"\xfe\xff".as_slice(), &big].concat(), "UTF-16"),
            ([b"\xff\xfe\0\0".as_slice(), &wide].concat(), "UTF-32"),
            (unmarked, "UTF-16"),
        ] {
            let description = describe_text(&head);
            assert_eq!(
                description.to_string(),
                format!("text in {encoding}, expected UTF-8")
            );
            assert!(description.hint.is_some_and(|hint| hint.contains("UTF-8")));
        }
        for head in [b"\0\0\0\0".as_slice(), b"\x01\0\x02\0", b"a\0b", b"a\0"] {
            assert_eq!(describe_text(head).to_string(), "binary data");
        }
    }

    #[test]
    fn formats_of_others_are_named() {
        for (head, text) in [
            (br#"{"a": 1}"#.as_slice(), "JSON"),
            (b"[1, 2]", "JSON"),
            (b"# words\nmore", "text"),
            ("Prüfung".as_bytes(), "text"),
            (b"a\0b", "binary data"),
        ] {
            assert_eq!(describe_text(head).to_string(), text);
        }
        let magic_description = |head: &[u8]| describe_magic(head).unwrap().to_string();
        assert_eq!(magic_description(b"\x80\x04\x95..."), "a Python pickle");
        assert_eq!(magic_description(b"\x89PNG\r\n\x1a\n"), "a PNG image");
        assert_eq!(magic_description(b"PK\x03\x04"), "a zip archive");
        assert!(describe_magic(b"{").is_none());
    }
}
