//! Reads the arrays of an npz file in pieces; each array is inflated once.

use std::io::{Read, Seek};

use twox_hash::xxhash3_128::Hasher;
use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use crate::npy::NumberHeader;

/// Bytes that are inflated at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Maximum number of elements of an array that is decoded in memory. The largest array of the release has 6 million.
const MAX_NUMBERS: u64 = 1 << 24;

/// Maximum number of members of an archive; those of the release have six or seven.
const MAX_MEMBERS: usize = 64;

/// File name suffix of an array in the archive.
pub(super) const SUFFIX: &str = ".npy";

/// Arrays of a tile file.
pub(super) const TILE_ARRAYS: [&str; 6] = [
    "node_feat",
    "node_opcode",
    "edge_index",
    "config_feat",
    "config_runtime",
    "config_runtime_normalizers",
];

/// Arrays of a layout file.
pub(super) const LAYOUT_ARRAYS: [&str; 7] = [
    "node_feat",
    "node_opcode",
    "edge_index",
    "node_config_feat",
    "node_config_ids",
    "config_runtime",
    "node_splits",
];

/// Open npz file.
pub(super) struct NpzArchive<R> {
    zip: ZipArchive<R>,
    /// Names of the arrays, in the order of the file.
    pub(super) names: Vec<String>,
}

impl<R: Read + Seek> NpzArchive<R> {
    /// Reads the central directory at the end of the file.
    pub(super) fn open(input: R) -> Result<Self, String> {
        let zip = ZipArchive::new(input).map_err(|error| match error {
            ZipError::InvalidArchive(detail) if detail.contains("EOCD") => {
                "the zip directory at the end is missing or damaged: \
                 the file is truncated or not an npz file"
                    .to_owned()
            }
            other => other.to_string(),
        })?;
        if zip.len() > MAX_MEMBERS {
            return Err(format!(
                "{} members, expected at most {MAX_MEMBERS}",
                zip.len()
            ));
        }
        let mut names: Vec<String> = Vec::with_capacity(zip.len());
        for index in 0..zip.len() {
            let member = zip.name_for_index(index).ok_or("a member without a name")?;
            let member = member.map_err(|error| error.to_string())?;
            let name = member.strip_suffix(SUFFIX);
            let name = name.ok_or_else(|| format!("{member}: not an array"))?;
            if names.iter().any(|other| other == name) {
                return Err(format!("{name}: duplicate array"));
            }
            names.push(name.to_owned());
        }
        Ok(Self { zip, names })
    }

    /// Starts to read an array.
    pub(super) fn open_array(&mut self, name: &str) -> Result<ArrayReader<'_, R>, String> {
        let file = self.zip.by_name(&format!("{name}{SUFFIX}"));
        let mut file = file.map_err(|error| error.to_string())?;
        let header = NumberHeader::read(&mut file)?;
        let bytes = header
            .count()
            .and_then(|count| count.checked_mul(header.dtype.bytes as u64));
        let remaining = bytes.ok_or_else(|| format!("shape {:?} is too large", header.shape))?;
        Ok(ArrayReader {
            file,
            header,
            remaining,
            hasher: Hasher::new(),
            piece: Vec::new(),
        })
    }
}

/// Array that is being read.
pub(super) struct ArrayReader<'a, R: Read + Seek> {
    file: ZipFile<'a, R>,
    pub(super) header: NumberHeader,
    /// Remaining bytes of data.
    remaining: u64,
    hasher: Hasher,
    piece: Vec<u8>,
}

impl<R: Read + Seek> ArrayReader<'_, R> {
    /// Passes all data to `visit` in file order, in chunks of `unit` bytes.
    pub(super) fn for_each_piece(
        &mut self,
        unit: usize,
        mut visit: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let max_bytes = PIECE_BYTES.next_multiple_of(unit.max(1));
        while self.remaining > 0 {
            let requested = usize::try_from(self.remaining)
                .map_or(max_bytes, |remaining| remaining.min(max_bytes));
            self.piece.resize(requested, 0);
            let result = self.file.read_exact(&mut self.piece);
            result.map_err(|error| format!("{error}; {} bytes are missing", self.remaining))?;
            self.hasher.write(&self.piece);
            self.remaining -= requested as u64;
            for unit in self.piece.chunks(unit.max(1)) {
                visit(unit)?;
            }
        }
        Ok(())
    }

    /// Reads all numbers in row-major order, whatever their order in the file.
    pub(super) fn read_numbers(&mut self) -> Result<Vec<i64>, String> {
        let count = self.header.count().unwrap_or(u64::MAX);
        if count > MAX_NUMBERS {
            return Err(format!("{count} numbers, expected at most {MAX_NUMBERS}"));
        }
        let dtype = self.header.dtype.clone();
        let mut numbers = Vec::new();
        self.for_each_piece(dtype.bytes << 10, |bytes| dtype.decode(bytes, &mut numbers))?;
        if self.header.fortran
            && let [rows, columns] = self.header.shape.as_slice()
        {
            return transpose(&numbers, *columns, *rows);
        }
        Ok(numbers)
    }

    /// Checks that the data ends here and that the checksum is correct; returns the hash of the data.
    pub(super) fn finish(mut self) -> Result<u128, String> {
        let mut rest = [0; 64];
        match self.file.read(&mut rest) {
            Ok(0) => Ok(self.hasher.finish_128()),
            Ok(_) => Err("longer than its header states".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Transposes a row-major matrix of `rows` and `columns`.
pub(super) fn transpose(numbers: &[i64], rows: u64, columns: u64) -> Result<Vec<i64>, String> {
    let size = |size| usize::try_from(size).map_err(|_| "too large".to_owned());
    let (rows, columns) = (size(rows)?, size(columns)?);
    let mut transposed = Vec::with_capacity(numbers.len());
    for column in 0..columns {
        transposed.extend(numbers.iter().skip(column).step_by(columns).take(rows));
    }
    Ok(transposed)
}
