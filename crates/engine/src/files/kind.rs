//! Detection of the file type by the extension or by the first bytes.

use std::io::{Cursor, Read as _};

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;

/// File type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Comma-separated values, or with another delimiter; values may be quoted.
    Csv,
    /// Tab-separated values without quotes. `\t`, `\n`, `\r` and `\\` are escapes.
    Tsv,
    /// JSON objects, one per line or in one array.
    Json,
    /// Arrow IPC, as a file or a stream.
    Arrow,
    Parquet,
    /// NumPy arrays.
    Npz,
}

/// File extensions.
pub(super) const EXTENSIONS: [(&str, FileKind); 10] = [
    ("csv", FileKind::Csv),
    ("tsv", FileKind::Tsv),
    ("json", FileKind::Json),
    ("jsonl", FileKind::Json),
    ("ndjson", FileKind::Json),
    ("arrow", FileKind::Arrow),
    ("arrows", FileKind::Arrow),
    ("feather", FileKind::Arrow),
    ("parquet", FileKind::Parquet),
    ("npz", FileKind::Npz),
];

/// Extensions of compressed files, after the others.
const COMPRESSED_EXTENSIONS: [&str; 4] = ["gz", "zst", "bz2", "xz"];

/// Magic bytes of self-describing formats.
const SIGNATURES: [(&[u8], FileKind); 3] = [
    (b"PAR1", FileKind::Parquet),
    (b"ARROW1", FileKind::Arrow),
    // A stream begins with a message, which starts with its length.
    (b"\xff\xff\xff\xff", FileKind::Arrow),
];

/// Returns the type that the extension of a file name denotes, and the extension: `("csv.gz", Csv)`.
pub(super) fn kind_from_name(path: &str) -> Option<(&str, FileKind)> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (stem, last) = name.rsplit_once('.')?;
    let is = |ending: &str, known: &str| ending.eq_ignore_ascii_case(known);
    let kind = |ending: &str| {
        let mut endings = EXTENSIONS.iter();
        endings
            .find(|(known, _)| is(ending, known))
            .map(|(_, kind)| *kind)
    };
    if !COMPRESSED_EXTENSIONS.iter().any(|known| is(last, known)) {
        return Some((last, kind(last)?));
    }
    let (_, inner) = stem.rsplit_once('.')?;
    let both = name.get(name.len() - inner.len() - 1 - last.len()..)?;
    Some((both, kind(inner)?))
}

/// Properties that the first bytes of a file reveal.
pub(super) struct Detected {
    pub(super) packing: FileCompressionType,
    /// File type by magic bytes; JSON by its first brace.
    pub(super) kind: Option<FileKind>,
    /// Whether the JSON is one array.
    pub(super) is_array: bool,
}

impl Detected {
    pub(super) fn detect(bytes: &[u8]) -> Self {
        let packing = detect_compression(bytes);
        let inflated = decompress_prefix(bytes, packing);
        let content = inflated.as_deref().unwrap_or(bytes);
        let first = content
            .strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(content);
        let first = first.iter().find(|byte| !byte.is_ascii_whitespace());
        let told = SIGNATURES
            .iter()
            .find(|(magic, _)| content.starts_with(magic));
        let kind = match first {
            _ if told.is_some() => told.map(|(_, kind)| *kind),
            Some(b'{' | b'[') => Some(FileKind::Json),
            _ => None,
        };
        Self {
            packing,
            kind,
            is_array: first == Some(&b'['),
        }
    }
}

fn detect_compression(bytes: &[u8]) -> FileCompressionType {
    const MAGIC: [(&[u8], FileCompressionType); 4] = [
        (b"\x1f\x8b", FileCompressionType::GZIP),
        (b"\x28\xb5\x2f\xfd", FileCompressionType::ZSTD),
        (b"BZh", FileCompressionType::BZIP2),
        (b"\xfd7zXZ\0", FileCompressionType::XZ),
    ];
    let found = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic));
    found.map_or(FileCompressionType::UNCOMPRESSED, |(_, packing)| *packing)
}

/// Decompresses the prefix of a compressed file as far as possible.
fn decompress_prefix(bytes: &[u8], packing: FileCompressionType) -> Option<Vec<u8>> {
    /// Sufficient to find the first brace after many blanks.
    const MAX_DECOMPRESSED_BYTES: u64 = 4096;
    if !packing.is_compressed() {
        return None;
    }
    let mut content = Vec::new();
    let reader = packing.convert_read(Cursor::new(bytes.to_vec())).ok()?;
    // The input is truncated; the bytes before the error are valid.
    let _ = reader
        .take(MAX_DECOMPRESSED_BYTES)
        .read_to_end(&mut content);
    Some(content)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn names_determine_kinds() {
        for (name, wanted) in [
            ("a/b.csv", Some(("csv", FileKind::Csv))),
            ("b.CSV.gz", Some(("CSV.gz", FileKind::Csv))),
            ("s3://x/y.jsonl.zst", Some(("jsonl.zst", FileKind::Json))),
            ("x.feather", Some(("feather", FileKind::Arrow))),
            ("x.log", None),
            ("a.csv/x", None),
            ("x.gz", None),
        ] {
            assert_eq!(kind_from_name(name), wanted, "{name}");
        }
    }

    #[test]
    fn first_bytes_determine_kinds() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b" \n[{\"a\": 1}]").unwrap();
        let head = Detected::detect(&gzip.finish().unwrap());
        assert_eq!((head.kind, head.is_array), (Some(FileKind::Json), true));
        assert!(head.packing.is_compressed());
        let head = Detected::detect(b"{\"a\": [1]}");
        assert_eq!((head.kind, head.is_array), (Some(FileKind::Json), false));
        assert_eq!(Detected::detect(b"PAR1...").kind, Some(FileKind::Parquet));
        assert_eq!(Detected::detect(b"a,b\n").kind, None);
        assert_eq!(Detected::detect(b"").kind, None);
    }
}
