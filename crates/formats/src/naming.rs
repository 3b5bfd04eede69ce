//! Lossless conversion of file names to text and back.
//!
//! In a path component that is not UTF-8, invalid bytes become `%E4` and `%` becomes `%25`. Other components are
//! unchanged, unless they look like an escaped component; those are escaped, too.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Converts the name of a file or folder to text.
pub fn part_to_text(part: &OsStr) -> String {
    encode_part(part.as_encoded_bytes())
}

/// Converts a path to text, component by component.
pub fn path_to_text(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    let parts = text.split(|&byte| byte == b'/');
    parts.map(encode_part).collect::<Vec<_>>().join("/")
}

/// Returns the components of a path in the store with their names on disk.
pub fn path_parts(name: &str) -> impl Iterator<Item = OsString> {
    name.split('/').map(|part| os_string(decode_part(part)))
}

/// Returns the name of the first, second, ... file that is exported under the same name with other content: `a/b.json`,
/// `a/b~2.json`.
pub fn numbered_name(name: &str, copy: usize) -> String {
    if copy == 1 {
        return name.to_owned();
    }
    let folder = name.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, file) = name.split_at(folder);
    match file.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => format!("{folder}{stem}~{copy}.{extension}"),
        _ => format!("{folder}{file}~{copy}"),
    }
}

fn encode_part(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if decode_part(text) == bytes => text.to_owned(),
        _ => escape(bytes),
    }
}

fn decode_part(text: &str) -> Vec<u8> {
    let bytes = unescape(text);
    if bytes != text.as_bytes() && encode_part(&bytes) == text {
        bytes
    } else {
        text.as_bytes().to_vec()
    }
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Inverse of [`escape`]; decodes everything that looks like an escape.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = digits.and_then(|digits| {
            let has_lowercase = digits.iter().any(u8::is_ascii_lowercase);
            let digits = std::str::from_utf8(digits)
                .ok()
                .filter(|_| !has_lowercase)?;
            u8::from_str_radix(digits, 16).ok()
        });
        match byte.filter(|byte| !byte.is_ascii() || *byte == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or(&[]);
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_numbered_before_the_extension() {
        assert_eq!(numbered_name("a/b.c.json", 1), "a/b.c.json");
        assert_eq!(numbered_name("a/b.c.json", 2), "a/b.c~2.json");
        assert_eq!(numbered_name("a.b/log", 3), "a.b/log~3");
        assert_eq!(numbered_name(".hidden", 2), ".hidden~2");
    }

    #[test]
    fn every_name_can_be_read_back() {
        for (bytes, text) in [
            (&b"plain.json"[..], "plain.json"),
            ("b\u{e4}r 100%.json".as_bytes(), "b\u{e4}r 100%.json"),
            // Latin-1.
            (b"b\xe4r.json", "b%E4r.json"),
            (b"100% b\xe4r", "100%25 b%E4r"),
            // Names that look like escapes, and names that look like escaped escapes.
            (b"b%E4r.json", "b%25E4r.json"),
            (b"b%25E4r.json", "b%2525E4r.json"),
            // URL escapes of UTF-8 are not affected.
            (b"caf%C3%A9.json", "caf%C3%A9.json"),
            (b"a%20b%25.json", "a%20b%25.json"),
            (b"%", "%"),
            (b"%E", "%E"),
        ] {
            assert_eq!(encode_part(bytes), text);
            assert_eq!(decode_part(text), bytes, "{text}");
        }
    }

    #[test]
    fn different_names_have_different_texts() {
        let alphabet = [b'%', b'2', b'5', b'E', b'4', 0xe4, 0xc3, 0xa9];
        let mut names = std::collections::HashMap::new();
        for number in 0..8_usize.pow(5) {
            let bytes: Vec<u8> = (0..5)
                .map(|position| alphabet[number / 8_usize.pow(position) % 8])
                .collect();
            let text = encode_part(&bytes);
            assert_eq!(decode_part(&text), bytes);
            assert_eq!(names.insert(text, bytes.clone()), None, "{bytes:?}");
        }
    }
}
