//! Reads npz files (zip archives of arrays, as written by `numpy.savez`): the list of arrays and their bytes in
//! row-major order.
//!
//! Values are not decoded here; the header of an array describes them. Memory is bounded by the requested number of
//! bytes. Multi-dimensional arrays in Fortran order are the exception. Their rows are scattered, so they are buffered
//! in memory.

use std::io::{Cursor, Read, Seek};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use crate::npy::ArrayDescription;

/// File name suffix of an array in the archive.
const SUFFIX: &str = ".npy";

/// Maximum number of arrays in a file.
const MAX_ARRAYS: usize = 4096;

/// Maximum size of an array that is buffered in memory, in bytes: 2^24 doubles.
const MAX_BUFFERED_BYTES: u64 = 8 << 24;

/// Maximum compression ratio of a member, which is the limit of DEFLATE.
const MAX_INFLATION: u64 = 1032;

/// Counts the bytes read.
struct CountingReader<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.bytes += length as u64;
        Ok(length)
    }
}

/// Array in an npz file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Name, without `.npy`.
    pub name: String,
    /// Header.
    pub described: ArrayDescription,
    /// Size of the data after the header in bytes.
    pub content_bytes: u64,
}

/// Open npz file.
pub struct Npz<R>(ZipArchive<R>);

impl<R: Read + Seek> Npz<R> {
    /// Reads the central directory at the end of the file.
    ///
    /// # Errors
    /// Returns an error if the archive is invalid.
    pub fn open(input: R) -> Result<Self, String> {
        let zip = ZipArchive::new(input).map_err(|error| match error {
            ZipError::InvalidArchive(detail) if detail.contains("EOCD") => {
                "the zip directory at the end is missing: the file is truncated or not an npz file"
                    .to_owned()
            }
            other => other.to_string(),
        })?;
        if zip.len() > MAX_ARRAYS {
            return Err(format!(
                "{} arrays, expected at most {MAX_ARRAYS}",
                zip.len()
            ));
        }
        Ok(Self(zip))
    }

    /// Returns the arrays, in the order of the file.
    ///
    /// # Errors
    /// Returns an error for a member that is not an array, and for duplicate names.
    pub fn arrays(&mut self) -> Result<Vec<Array>, String> {
        let mut arrays: Vec<Array> = Vec::with_capacity(self.0.len());
        for index in 0..self.0.len() {
            let mut file = self.0.by_index(index).map_err(|error| error.to_string())?;
            let member = file.name().map_err(|error| error.to_string())?.into_owned();
            let name = member.strip_suffix(SUFFIX);
            let name = name.ok_or_else(|| format!("`{member}` is not an array"))?;
            if arrays.iter().any(|array| array.name == name) {
                return Err(format!("duplicate array `{name}`"));
            }
            let array_error = |reason: String| format!("array `{name}`: {reason}");
            let (size, compressed_size) = (file.size(), file.compressed_size());
            if size
                > compressed_size
                    .saturating_mul(MAX_INFLATION)
                    .saturating_add(MAX_INFLATION)
            {
                let reason =
                    format!("invalid size of {size} bytes for {compressed_size} compressed bytes");
                return Err(array_error(reason));
            }
            let mut counted = CountingReader {
                input: &mut file,
                bytes: 0,
            };
            let described = ArrayDescription::read(&mut counted).map_err(array_error)?;
            let content_bytes = size.checked_sub(counted.bytes);
            let content_bytes =
                content_bytes.ok_or_else(|| array_error("shorter than its header".to_owned()))?;
            arrays.push(Array {
                name: name.to_owned(),
                described,
                content_bytes,
            });
        }
        Ok(arrays)
    }

    /// Starts to read an array with elements of `element_bytes` bytes.
    ///
    /// # Errors
    /// Returns an error if the array is invalid, or if it must be buffered in memory and is too large for that.
    pub fn rows(&mut self, name: &str, element_bytes: usize) -> Result<ArrayRows<'_, R>, String> {
        let file = self.0.by_name(&format!("{name}{SUFFIX}"));
        let mut file = file.map_err(|error| error.to_string())?;
        let described = ArrayDescription::read(&mut file)?;
        let bytes = described.count().and_then(|count| {
            let element = u64::try_from(element_bytes).ok()?;
            count.checked_mul(element)
        });
        let remaining = bytes.ok_or_else(|| format!("shape {:?} is too large", described.shape))?;
        if !described.fortran || described.shape.len() < 2 {
            return Ok(ArrayRows {
                file,
                buffered: None,
                remaining,
            });
        }
        if remaining > MAX_BUFFERED_BYTES {
            return Err(format!(
                "{remaining} bytes in Fortran order, expected at most {MAX_BUFFERED_BYTES}\n\
                 hint: use numpy.ascontiguousarray before saving"
            ));
        }
        let mut rows = ArrayRows {
            file,
            buffered: None,
            remaining,
        };
        let byte_count = usize::try_from(remaining).map_err(|_| "too large".to_owned())?;
        let bytes = rows.take(byte_count)?;
        rows.check_end()?;
        let row_major = to_row_major(&bytes, &described.shape, element_bytes)?;
        rows.buffered = Some(Cursor::new(row_major));
        rows.remaining = remaining;
        Ok(rows)
    }
}

/// Array that is read row by row.
pub struct ArrayRows<'a, R: Read + Seek> {
    file: ZipFile<'a, R>,
    buffered: Option<Cursor<Vec<u8>>>,
    /// Remaining bytes.
    remaining: u64,
}

impl<R: Read + Seek> ArrayRows<'_, R> {
    /// Returns the next `bytes` bytes.
    ///
    /// # Errors
    /// Returns an error if fewer remain or decompression fails.
    pub fn take(&mut self, bytes: usize) -> Result<Vec<u8>, String> {
        let mut content = vec![0; bytes];
        let result = match &mut self.buffered {
            Some(buffered) => buffered.read_exact(&mut content),
            None => self.file.read_exact(&mut content),
        };
        result.map_err(|error| format!("{error}; {} bytes are missing", self.remaining))?;
        self.remaining = self.remaining.saturating_sub(bytes as u64);
        Ok(content)
    }

    /// Checks that the data ends here and that the checksum is correct.
    ///
    /// # Errors
    /// Returns an error if more data follows or the checksum is wrong.
    pub fn check_end(&mut self) -> Result<(), String> {
        let mut rest = [0; 64];
        match self.file.read(&mut rest) {
            Ok(0) => Ok(()),
            Ok(_) => Err("longer than its header states".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Converts elements from column-major to row-major order.
fn to_row_major(bytes: &[u8], shape: &[u64], element_bytes: usize) -> Result<Vec<u8>, String> {
    let sizes = shape.iter().map(|&size| usize::try_from(size));
    let sizes: Vec<usize> = sizes
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let mut strides = Vec::with_capacity(sizes.len());
    let mut stride = 1_usize;
    for size in &sizes {
        strides.push(stride);
        stride = stride.saturating_mul(*size);
    }
    let mut row_major = Vec::with_capacity(bytes.len());
    let mut index = vec![0_usize; sizes.len()];
    for _ in 0..stride {
        let element_index: usize = index
            .iter()
            .zip(&strides)
            .map(|(coordinate, stride)| coordinate * stride)
            .sum();
        let start = element_index * element_bytes;
        let element = bytes.get(start..start + element_bytes);
        row_major.extend_from_slice(element.ok_or("shorter than its header states")?);
        for (coordinate, size) in index.iter_mut().zip(&sizes).rev() {
            *coordinate += 1;
            if *coordinate < *size {
                break;
            }
            *coordinate = 0;
        }
    }
    Ok(row_major)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::npy::{Dtype, NumberHeader};

    /// Builds an npz file of these arrays of bytes.
    fn file(arrays: &[(&str, bool, &[u64], &[u8])]) -> Cursor<Vec<u8>> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, fortran, shape, bytes) in arrays {
            let header = NumberHeader {
                dtype: Dtype::parse("|u1").unwrap(),
                fortran: *fortran,
                shape: shape.to_vec(),
            };
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(&header.write()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap()
    }

    #[test]
    fn rows_are_returned_in_row_major_order() {
        let bytes = file(&[
            ("a.npy", false, &[2, 3], &[1, 2, 3, 4, 5, 6]),
            ("b.npy", true, &[2, 3], &[1, 4, 2, 5, 3, 6]),
            ("c.npy", true, &[2, 2, 2], &[1, 5, 3, 7, 2, 6, 4, 8]),
            ("d.npy", false, &[], &[9]),
        ]);
        let mut npz = Npz::open(bytes).unwrap();
        let names: Vec<String> = npz
            .arrays()
            .unwrap()
            .into_iter()
            .map(|array| array.name)
            .collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        for name in ["a", "b"] {
            let mut rows = npz.rows(name, 1).unwrap();
            assert_eq!(rows.take(3).unwrap(), [1, 2, 3]);
            assert_eq!(rows.take(3).unwrap(), [4, 5, 6]);
            rows.check_end().unwrap();
        }
        let mut cube = npz.rows("c", 1).unwrap();
        assert_eq!(cube.take(8).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        drop(cube);
        assert_eq!(npz.rows("d", 1).unwrap().take(1).unwrap(), [9]);
    }

    #[test]
    fn errors_of_a_file_have_a_reason() {
        let error_of = |npz: Result<Npz<Cursor<Vec<u8>>>, String>| {
            npz.and_then(|mut npz| npz.arrays().map(|_| ()))
                .unwrap_err()
        };
        assert!(error_of(Npz::open(Cursor::new(b"words".to_vec()))).contains("not an npz file"));
        let other = file(&[("readme.txt", false, &[1], &[1])]);
        assert!(error_of(Npz::open(other)).contains("`readme.txt` is not an array"));
        let short = file(&[("a.npy", false, &[4], &[1, 2])]);
        let mut npz = Npz::open(short).unwrap();
        assert_eq!(npz.arrays().unwrap()[0].content_bytes, 2);
        let error = npz.rows("a", 1).unwrap().take(4).unwrap_err();
        assert!(error.contains("4 bytes are missing"), "{error}");
        let long = file(&[("a.npy", false, &[1], &[1, 2])]);
        let mut npz = Npz::open(long).unwrap();
        let mut rows = npz.rows("a", 1).unwrap();
        rows.take(1).unwrap();
        assert!(rows.check_end().unwrap_err().contains("longer"));
        let huge = file(&[("a.npy", true, &[1 << 40, 2], &[])]);
        let mut npz = Npz::open(huge).unwrap();
        assert!(npz.rows("a", 8).err().unwrap().contains("Fortran order"));
    }
}
