#![cfg_attr(
    unix,
    allow(unsafe_code, reason = "a mapped file must not be changed by others")
)]
//! Memory mapping of a file in the user's cache. Pages are read on first access, and the system may evict them.

use std::fs::File;
use std::path::Path;

use super::Error;

/// The bytes of a mapped file.
///
/// * They start at a page boundary.
/// * The file must not be changed or truncated once it has its name. Writers rename a new file into place, and
///   unlinking the file leaves the mapping valid.
#[derive(Debug)]
pub struct MappedFile(Bytes);

impl MappedFile {
    /// Maps a file that only the user can write to and that nobody changes. The file need not keep its name.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io(path))?;
        Bytes::from_file(file).map(Self).map_err(Error::io(path))
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

#[cfg(unix)]
use of_unix::Bytes;

#[cfg(unix)]
mod of_unix {
    use std::ffi::c_void;
    use std::fs::File;
    use std::num::NonZeroUsize;
    use std::ptr::NonNull;

    use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

    /// A mapping; `None` for an empty file.
    #[derive(Debug)]
    pub(super) struct Bytes(Option<(NonNull<c_void>, NonZeroUsize)>);

    // SAFETY: the pages are only ever read, and belong to no thread.
    unsafe impl Send for Bytes {}
    // SAFETY: as above.
    unsafe impl Sync for Bytes {}

    impl Bytes {
        pub(super) fn from_file(file: File) -> std::io::Result<Self> {
            let length = file.metadata()?.len();
            let too_long = |_| std::io::Error::from(std::io::ErrorKind::FileTooLarge);
            let length = usize::try_from(length).map_err(too_long)?;
            let Some(length) = NonZeroUsize::new(length) else {
                return Ok(Self(None));
            };
            let (protection, flags) = (ProtFlags::PROT_READ, MapFlags::MAP_SHARED);
            // SAFETY: a new mapping at an address that the system chooses affects no existing memory. `MappedFile`
            // requires that the file keeps its bytes.
            let start = unsafe { mmap(None, length, protection, flags, file, 0)? };
            Ok(Self(Some((start, length))))
        }

        pub(super) fn bytes(&self) -> &[u8] {
            match self.0 {
                None => &[],
                // SAFETY: the mapping holds `length` bytes as long as `self` lives, and nobody writes to it.
                Some((start, length)) => unsafe {
                    std::slice::from_raw_parts(start.as_ptr().cast(), length.get())
                },
            }
        }
    }

    impl Drop for Bytes {
        fn drop(&mut self) {
            if let Some((start, length)) = self.0 {
                // SAFETY: the mapping is owned by `self`, and no slice of it outlives `self`.
                let _ = unsafe { munmap(start, length.get()) };
            }
        }
    }
}

/// The content of the file, read into memory on platforms without mapping.
#[cfg(not(unix))]
#[derive(Debug)]
struct Bytes(Vec<u8>);

#[cfg(not(unix))]
impl Bytes {
    fn from_file(mut file: File) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Self(bytes))
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_outlives_the_name_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "bytes").unwrap();
        let mapped = MappedFile::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapped.as_ref(), b"bytes");
        assert!(MappedFile::open(&path).is_err());
        std::fs::write(&path, "").unwrap();
        assert!(MappedFile::open(&path).unwrap().as_ref().is_empty());
    }
}
