//! Any npz file (a zip archive of arrays, as `numpy.savez` writes it): which arrays it has, and their bytes in the order
//! of their rows.
//!
//! Values are not looked at here; what they are the header of their array says. Memory is that of what is asked for at a
//! time, but for arrays of several dimensions in Fortran order, whose rows are scattered all over them: these are held.

use std::io::{Cursor, Read, Seek};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use crate::npy::Described;

/// What follows the name of an array in the archive.
const SUFFIX: &str = ".npy";

/// Arrays that a file may have.
const MAX_ARRAYS: usize = 4096;

/// Most bytes of an array that has to be held: those of 2^24 doubles.
const MAX_HELD_BYTES: u64 = 8 << 24;

/// How many times larger than its compressed form a member may be: no stream of DEFLATE holds more.
const MAX_INFLATION: u64 = 1032;

/// Counts what is read.
struct Counted<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// An array by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name, without `.npy`.
    pub name: String,
    /// What it says of itself.
    pub described: Described,
    /// Bytes that follow what it says of itself.
    pub content_bytes: u64,
}

/// An open npz file.
pub struct Npz<R>(ZipArchive<R>);

impl<R: Read + Seek> Npz<R> {
    /// Reads the directory at the end of the file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(input: R) -> Result<Self, String> {
        let zip = ZipArchive::new(input).map_err(|error| match error {
            ZipError::InvalidArchive(detail) if detail.contains("EOCD") => {
                "no npz file, or one that was cut off: the directory at its end is missing"
                    .to_owned()
            }
            other => other.to_string(),
        })?;
        if zip.len() > MAX_ARRAYS {
            return Err(format!(
                "{} arrays: at most {MAX_ARRAYS} are read",
                zip.len()
            ));
        }
        Ok(Self(zip))
    }

    /// The arrays, in their order in the file.
    ///
    /// # Errors
    /// A member that is none, or that is there twice.
    pub fn arrays(&mut self) -> Result<Vec<Array>, String> {
        let mut arrays: Vec<Array> = Vec::with_capacity(self.0.len());
        for index in 0..self.0.len() {
            let mut file = self.0.by_index(index).map_err(|error| error.to_string())?;
            let member = file.name().map_err(|error| error.to_string())?.into_owned();
            let name = member.strip_suffix(SUFFIX);
            let name = name.ok_or_else(|| format!("`{member}` is no array"))?;
            if arrays.iter().any(|array| array.name == name) {
                return Err(format!("array `{name}` is there twice"));
            }
            let of_array = |reason: String| format!("array `{name}`: {reason}");
            let (size, packed) = (file.size(), file.compressed_size());
            if size
                > packed
                    .saturating_mul(MAX_INFLATION)
                    .saturating_add(MAX_INFLATION)
            {
                let reason = format!("{packed} bytes cannot be {size} that were compressed");
                return Err(of_array(reason));
            }
            let mut counted = Counted {
                input: &mut file,
                bytes: 0,
            };
            let described = Described::read(&mut counted).map_err(of_array)?;
            let content_bytes = size.checked_sub(counted.bytes);
            let content_bytes =
                content_bytes.ok_or_else(|| of_array("shorter than its own header".to_owned()))?;
            arrays.push(Array {
                name: name.to_owned(),
                described,
                content_bytes,
            });
        }
        Ok(arrays)
    }

    /// Begins to read an array, whose elements have so many bytes each.
    ///
    /// # Errors
    /// What is wrong with it, or that it would have to be held and is too large for that.
    pub fn rows(&mut self, name: &str, element_bytes: usize) -> Result<Rows<'_, R>, String> {
        let file = self.0.by_name(&format!("{name}{SUFFIX}"));
        let mut file = file.map_err(|error| error.to_string())?;
        let described = Described::read(&mut file)?;
        let bytes = described.count().and_then(|count| {
            let element = u64::try_from(element_bytes).ok()?;
            count.checked_mul(element)
        });
        let left = bytes.ok_or_else(|| format!("shape {:?} is too large", described.shape))?;
        if !described.fortran || described.shape.len() < 2 {
            return Ok(Rows {
                file,
                held: None,
                left,
            });
        }
        if left > MAX_HELD_BYTES {
            return Err(format!(
                "{left} bytes in Fortran order: at most {MAX_HELD_BYTES} are turned round\n\
                 hint: numpy.ascontiguousarray before it is saved"
            ));
        }
        let mut rows = Rows {
            file,
            held: None,
            left,
        };
        let all = usize::try_from(left).map_err(|_| "too large".to_owned())?;
        let bytes = rows.take(all)?;
        rows.end()?;
        let turned = by_rows(&bytes, &described.shape, element_bytes)?;
        rows.held = Some(Cursor::new(turned));
        rows.left = left;
        Ok(rows)
    }
}

/// An array that is being read, row after row.
pub struct Rows<'a, R: Read + Seek> {
    file: ZipFile<'a, R>,
    held: Option<Cursor<Vec<u8>>>,
    /// Bytes that are still to come.
    left: u64,
}

impl<R: Read + Seek> Rows<'_, R> {
    /// The next so many bytes.
    ///
    /// # Errors
    /// There are fewer, or they cannot be inflated.
    pub fn take(&mut self, bytes: usize) -> Result<Vec<u8>, String> {
        let mut taken = vec![0; bytes];
        let read = match &mut self.held {
            Some(held) => held.read_exact(&mut taken),
            None => self.file.read_exact(&mut taken),
        };
        read.map_err(|error| format!("{error}; {} bytes are missing", self.left))?;
        self.left = self.left.saturating_sub(bytes as u64);
        Ok(taken)
    }

    /// Looks that nothing follows and that the check sum is right.
    ///
    /// # Errors
    /// Something follows, or the sum is another one.
    pub fn end(&mut self) -> Result<(), String> {
        let mut rest = [0; 64];
        match self.file.read(&mut rest) {
            Ok(0) => Ok(()),
            Ok(_) => Err("longer than its header says".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Elements whose first index runs fastest in the order in which the last one does.
fn by_rows(bytes: &[u8], shape: &[u64], element_bytes: usize) -> Result<Vec<u8>, String> {
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
    let mut turned = Vec::with_capacity(bytes.len());
    let mut index = vec![0_usize; sizes.len()];
    for _ in 0..stride {
        let place: usize = index
            .iter()
            .zip(&strides)
            .map(|(at, stride)| at * stride)
            .sum();
        let from = place * element_bytes;
        let element = bytes.get(from..from + element_bytes);
        turned.extend_from_slice(element.ok_or("shorter than its header says")?);
        for (at, size) in index.iter_mut().zip(&sizes).rev() {
            *at += 1;
            if *at < *size {
                break;
            }
            *at = 0;
        }
    }
    Ok(turned)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::npy::{Dtype, Header};

    /// An npz file of these arrays of bytes.
    fn file(arrays: &[(&str, bool, &[u64], &[u8])]) -> Cursor<Vec<u8>> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, fortran, shape, bytes) in arrays {
            let header = Header {
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
    fn rows_come_in_their_order_whatever_that_of_the_file() {
        let written = file(&[
            ("a.npy", false, &[2, 3], &[1, 2, 3, 4, 5, 6]),
            ("b.npy", true, &[2, 3], &[1, 4, 2, 5, 3, 6]),
            ("c.npy", true, &[2, 2, 2], &[1, 5, 3, 7, 2, 6, 4, 8]),
            ("d.npy", false, &[], &[9]),
        ]);
        let mut npz = Npz::open(written).unwrap();
        let names: Vec<String> = npz
            .arrays()
            .unwrap()
            .into_iter()
            .map(|one| one.name)
            .collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        for name in ["a", "b"] {
            let mut rows = npz.rows(name, 1).unwrap();
            assert_eq!(rows.take(3).unwrap(), [1, 2, 3]);
            assert_eq!(rows.take(3).unwrap(), [4, 5, 6]);
            rows.end().unwrap();
        }
        let mut cube = npz.rows("c", 1).unwrap();
        assert_eq!(cube.take(8).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        drop(cube);
        assert_eq!(npz.rows("d", 1).unwrap().take(1).unwrap(), [9]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let told = |npz: Result<Npz<Cursor<Vec<u8>>>, String>| {
            npz.and_then(|mut npz| npz.arrays().map(|_| ()))
                .unwrap_err()
        };
        assert!(told(Npz::open(Cursor::new(b"words".to_vec()))).contains("no npz file"));
        let other = file(&[("readme.txt", false, &[1], &[1])]);
        assert!(told(Npz::open(other)).contains("`readme.txt` is no array"));
        let short = file(&[("a.npy", false, &[4], &[1, 2])]);
        let mut npz = Npz::open(short).unwrap();
        assert_eq!(npz.arrays().unwrap()[0].content_bytes, 2);
        let error = npz.rows("a", 1).unwrap().take(4).unwrap_err();
        assert!(error.contains("4 bytes are missing"), "{error}");
        let long = file(&[("a.npy", false, &[1], &[1, 2])]);
        let mut npz = Npz::open(long).unwrap();
        let mut rows = npz.rows("a", 1).unwrap();
        rows.take(1).unwrap();
        assert!(rows.end().unwrap_err().contains("longer"));
        let huge = file(&[("a.npy", true, &[1 << 40, 2], &[])]);
        let mut npz = Npz::open(huge).unwrap();
        assert!(npz.rows("a", 8).err().unwrap().contains("Fortran order"));
    }
}
