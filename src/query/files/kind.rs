//! What a file holds: told by the end of its name, or by its first bytes.

use std::io::{Cursor, Read as _};

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;

/// What rows are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Values between commas or what else is said, quoted.
    Csv,
    /// Values between tabs, `\t`, `\n`, `\r` and `\\` in them for what would break that; nothing is quoted.
    Tsv,
    /// Objects, one a line or in one array.
    Json,
    /// Arrow's IPC format, as a file or a stream.
    Arrow,
    Parquet,
    /// Arrays of NumPy.
    Npz,
}

/// Endings of names.
pub(super) const ENDINGS: [(&str, Kind); 10] = [
    ("csv", Kind::Csv),
    ("tsv", Kind::Tsv),
    ("json", Kind::Json),
    ("jsonl", Kind::Json),
    ("ndjson", Kind::Json),
    ("arrow", Kind::Arrow),
    ("arrows", Kind::Arrow),
    ("feather", Kind::Arrow),
    ("parquet", Kind::Parquet),
    ("npz", Kind::Npz),
];

/// Endings behind these.
const PACKED: [&str; 4] = ["gz", "zst", "bz2", "xz"];

/// First bytes of what tells itself.
const TOLD: [(&[u8], Kind); 3] = [
    (b"PAR1", Kind::Parquet),
    (b"ARROW1", Kind::Arrow),
    // A stream begins with a message, whose length follows.
    (b"\xff\xff\xff\xff", Kind::Arrow),
];

/// The kind that the name of a file tells, and its ending: `("csv.gz", Csv)`.
pub(super) fn named(path: &str) -> Option<(&str, Kind)> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (stem, last) = name.rsplit_once('.')?;
    let is = |ending: &str, known: &str| ending.eq_ignore_ascii_case(known);
    let kind = |ending: &str| {
        let mut endings = ENDINGS.iter();
        endings
            .find(|(known, _)| is(ending, known))
            .map(|(_, kind)| *kind)
    };
    if !PACKED.iter().any(|known| is(last, known)) {
        return Some((last, kind(last)?));
    }
    let (_, inner) = stem.rsplit_once('.')?;
    let both = name.get(name.len() - inner.len() - 1 - last.len()..)?;
    Some((both, kind(inner)?))
}

/// What the first bytes of a file tell.
pub(super) struct Head {
    pub(super) packing: FileCompressionType,
    /// That of files that tell themselves; JSON by its first brace.
    pub(super) kind: Option<Kind>,
    /// JSON in one array.
    pub(super) is_array: bool,
}

impl Head {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let packing = packing(bytes);
        let inflated = inflated(bytes, packing);
        let content = inflated.as_deref().unwrap_or(bytes);
        let first = content
            .strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(content);
        let first = first.iter().find(|byte| !byte.is_ascii_whitespace());
        let told = TOLD.iter().find(|(magic, _)| content.starts_with(magic));
        let kind = match first {
            _ if told.is_some() => told.map(|(_, kind)| *kind),
            Some(b'{' | b'[') => Some(Kind::Json),
            _ => None,
        };
        Self {
            packing,
            kind,
            is_array: first == Some(&b'['),
        }
    }
}

fn packing(bytes: &[u8]) -> FileCompressionType {
    const MAGIC: [(&[u8], FileCompressionType); 4] = [
        (b"\x1f\x8b", FileCompressionType::GZIP),
        (b"\x28\xb5\x2f\xfd", FileCompressionType::ZSTD),
        (b"BZh", FileCompressionType::BZIP2),
        (b"\xfd7zXZ\0", FileCompressionType::XZ),
    ];
    let found = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic));
    found.map_or(FileCompressionType::UNCOMPRESSED, |(_, packing)| *packing)
}

/// The beginning of what is packed, as far as these bytes have it.
fn inflated(bytes: &[u8], packing: FileCompressionType) -> Option<Vec<u8>> {
    /// Enough for a first brace behind many blanks.
    const MOST_BYTES: u64 = 4096;
    if !packing.is_compressed() {
        return None;
    }
    let mut content = Vec::new();
    let reader = packing.convert_read(Cursor::new(bytes.to_vec())).ok()?;
    // The bytes end in the middle: what came before counts.
    let _ = reader.take(MOST_BYTES).read_to_end(&mut content);
    Some(content)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn names_tell_kinds() {
        for (name, wanted) in [
            ("a/b.csv", Some(("csv", Kind::Csv))),
            ("b.CSV.gz", Some(("CSV.gz", Kind::Csv))),
            ("s3://x/y.jsonl.zst", Some(("jsonl.zst", Kind::Json))),
            ("x.feather", Some(("feather", Kind::Arrow))),
            ("x.log", None),
            ("a.csv/x", None),
            ("x.gz", None),
        ] {
            assert_eq!(named(name), wanted, "{name}");
        }
    }

    #[test]
    fn first_bytes_tell_kinds() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b" \n[{\"a\": 1}]").unwrap();
        let head = Head::of(&gzip.finish().unwrap());
        assert_eq!((head.kind, head.is_array), (Some(Kind::Json), true));
        assert!(head.packing.is_compressed());
        let head = Head::of(b"{\"a\": [1]}");
        assert_eq!((head.kind, head.is_array), (Some(Kind::Json), false));
        assert_eq!(Head::of(b"PAR1...").kind, Some(Kind::Parquet));
        assert_eq!(Head::of(b"a,b\n").kind, None);
        assert_eq!(Head::of(b"").kind, None);
    }
}
