//! Detects npz files of other programs by the names of their arrays.

use std::io::{Read, Seek, SeekFrom};

use zip::ZipArchive;

use super::archive::{LAYOUT_ARRAYS, SUFFIX, TILE_ARRAYS};
use crate::FileDescription;

/// Arrays that only TpuGraphs files have. Other graphs have features of nodes and edges, too.
const TPUGRAPHS_ARRAYS: [&str; 7] = [
    "config_feat",
    "config_runtime",
    "config_runtime_normalizers",
    "node_config_feat",
    "node_config_ids",
    "node_opcode",
    "node_splits",
];

/// Maximum number of listed names.
const LISTED: usize = 4;

/// Describes an npz file without any array of TpuGraphs; `None` for files with such an array, even if they are invalid.
pub fn describe_foreign_npz<R: Read + Seek>(mut input: R) -> Option<FileDescription> {
    let first = first_name(&mut input);
    let _ = input.seek(SeekFrom::Start(0));
    let Ok(archive) = ZipArchive::new(input) else {
        let first = first?;
        let known_arrays = TILE_ARRAYS.iter().chain(&LAYOUT_ARRAYS);
        let is_tpugraphs = known_arrays.copied().any(|name| name == array_name(&first));
        return (!is_tpugraphs)
            .then(|| FileDescription::new(format!("a damaged npz file of `{first}`")));
    };
    let names = (0..archive.len()).filter_map(|index| archive.name_for_index(index)?.ok());
    let names: Vec<String> = names.map(|name| array_name(&name).to_owned()).collect();
    if names.is_empty() {
        return Some(FileDescription::new("an empty zip archive"));
    }
    if names
        .iter()
        .any(|name| TPUGRAPHS_ARRAYS.contains(&name.as_str()))
    {
        return None;
    }
    let ellipsis = if names.len() > LISTED { ", ..." } else { "" };
    let listed: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    Some(FileDescription::new(format!(
        "an npz file without TpuGraphs arrays ({}{ellipsis})",
        listed.join(", ")
    )))
}

fn array_name(member: &str) -> &str {
    member.strip_suffix(SUFFIX).unwrap_or(member)
}

/// Returns the name of the first member, which is also stored at the start of the file.
fn first_name(input: &mut impl Read) -> Option<String> {
    // APPNOTE.TXT of the zip format, 4.3.7: the name has its length at offset 26 and starts at offset 30.
    let mut header = [0; 30];
    input.read_exact(&mut header).ok()?;
    let length = u16::from_le_bytes([*header.get(26)?, *header.get(27)?]);
    let mut name = vec![0; usize::from(length)];
    input.read_exact(&mut name).ok()?;
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::write::SimpleFileOptions;

    use super::*;

    fn zip(names: &[&str]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(b"\x93NUMPY").unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn describe(bytes: &[u8]) -> Option<String> {
        describe_foreign_npz(Cursor::new(bytes)).map(|description| description.to_string())
    }

    #[test]
    fn npz_files_of_other_programs_are_detected_by_arrays() {
        for (names, expected) in [
            (vec!["image.npy"], "(image)"),
            (
                vec!["node_feat.npy", "edge_index.npy"],
                "(node_feat, edge_index)",
            ),
            (
                vec!["a.npy", "b.npy", "c.npy", "d.npy", "e.npy"],
                "(a, b, c, d, ...)",
            ),
        ] {
            let description = describe(&zip(&names)).unwrap();
            assert!(description.ends_with(expected), "{description}");
        }
        assert_eq!(describe(&zip(&[])).unwrap(), "an empty zip archive");
    }

    #[test]
    fn damaged_files_of_tpugraphs_are_not_foreign() {
        let complete_file = zip(&["edge_index.npy", "config_runtime.npy"]);
        assert_eq!(describe(&complete_file), None);
        let first = zip(&["edge_index.npy", "config_feat.npy"]);
        assert_eq!(describe(&first[..first.len() / 2]), None);
        let other = zip(&["image.npy", "label.npy"]);
        assert_eq!(
            describe(&other[..other.len() / 2]).unwrap(),
            "a damaged npz file of `image.npy`"
        );
        assert_eq!(describe(b"PK\x03\x04"), None);
    }
}
