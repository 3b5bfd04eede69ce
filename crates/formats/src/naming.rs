//! Names of files as text, and back again.
//!
//! A part of a path that is no UTF-8 keeps its bytes: those that are none as `%E4`, and `%` as `%25`.
//! All others stay as they are, unless they look like such a part: then they are written as one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The name of a file or folder as text.
pub fn readable(part: &OsStr) -> String {
    written(part.as_encoded_bytes())
}

/// A path as text, part by part.
pub fn readable_path(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    let parts = text.split(|&byte| byte == b'/');
    parts.map(written).collect::<Vec<_>>().join("/")
}

/// The names of the folders and the file of a path in the store, as they were on disk.
pub fn parts(name: &str) -> impl Iterator<Item = OsString> {
    name.split('/').map(|part| os_string(read(part)))
}

/// The name of the first, second, ... file that is given under the same name with other content:
/// `a/b.json`, `a/b~2.json`.
pub fn numbered(name: &str, copy: usize) -> String {
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

fn written(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if read(text) == bytes => text.to_owned(),
        _ => escaped(bytes),
    }
}

fn read(text: &str) -> Vec<u8> {
    let bytes = unescaped(text);
    if bytes != text.as_bytes() && written(&bytes) == text {
        bytes
    } else {
        text.as_bytes().to_vec()
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Undoes [`escaped`] wherever something looks like it.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = digits.and_then(|digits| {
            let lower = digits.iter().any(u8::is_ascii_lowercase);
            let digits = std::str::from_utf8(digits).ok().filter(|_| !lower)?;
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
        assert_eq!(numbered("a/b.c.json", 1), "a/b.c.json");
        assert_eq!(numbered("a/b.c.json", 2), "a/b.c~2.json");
        assert_eq!(numbered("a.b/log", 3), "a.b/log~3");
        assert_eq!(numbered(".hidden", 2), ".hidden~2");
    }

    #[test]
    fn every_name_can_be_read_back() {
        for (bytes, text) in [
            (&b"plain.json"[..], "plain.json"),
            ("b\u{e4}r 100%.json".as_bytes(), "b\u{e4}r 100%.json"),
            // Latin-1.
            (b"b\xe4r.json", "b%E4r.json"),
            (b"100% b\xe4r", "100%25 b%E4r"),
            // What looks like one, and what looks like that.
            (b"b%E4r.json", "b%25E4r.json"),
            (b"b%25E4r.json", "b%2525E4r.json"),
            // URLs of UTF-8 do not.
            (b"caf%C3%A9.json", "caf%C3%A9.json"),
            (b"a%20b%25.json", "a%20b%25.json"),
            (b"%", "%"),
            (b"%E", "%E"),
        ] {
            assert_eq!(written(bytes), text);
            assert_eq!(read(text), bytes, "{text}");
        }
    }

    #[test]
    fn no_two_names_are_written_alike() {
        let letters = [b'%', b'2', b'5', b'E', b'4', 0xe4, 0xc3, 0xa9];
        let mut seen = std::collections::HashMap::new();
        for number in 0..8_usize.pow(5) {
            let bytes: Vec<u8> = (0..5)
                .map(|at| letters[number / 8_usize.pow(at) % 8])
                .collect();
            let text = written(&bytes);
            assert_eq!(read(&text), bytes);
            assert_eq!(seen.insert(text, bytes.clone()), None, "{bytes:?}");
        }
    }
}
