#![cfg_attr(
    unix,
    allow(
        unsafe_code,
        reason = "a file as memory is a promise that nobody changes it"
    )
)]
//! A file of the user's cache as memory: what is not looked at is not read, and the system may drop it again.

use std::fs::File;
use std::path::Path;

use super::Error;

/// The bytes of a file.
///
/// * They begin at a page.
/// * The file is never changed or cut once it has its name: whoever makes a new one renames it, and whoever removes
///   it unlinks it, which leaves the mapping as it is.
#[derive(Debug)]
pub struct Mapped(Bytes);

impl Mapped {
    /// Maps a file that only the user can write to, and nobody changes; it need not stay under its name.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io(path))?;
        Bytes::of(file).map(Self).map_err(Error::io(path))
    }
}

impl AsRef<[u8]> for Mapped {
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

    /// A mapping; `None` of an empty file.
    #[derive(Debug)]
    pub(super) struct Bytes(Option<(NonNull<c_void>, NonZeroUsize)>);

    // SAFETY: the pages are only ever read, and belong to no thread.
    unsafe impl Send for Bytes {}
    // SAFETY: as above.
    unsafe impl Sync for Bytes {}

    impl Bytes {
        pub(super) fn of(file: File) -> std::io::Result<Self> {
            let length = file.metadata()?.len();
            let too_long = |_| std::io::Error::from(std::io::ErrorKind::FileTooLarge);
            let length = usize::try_from(length).map_err(too_long)?;
            let Some(length) = NonZeroUsize::new(length) else {
                return Ok(Self(None));
            };
            let (protection, flags) = (ProtFlags::PROT_READ, MapFlags::MAP_SHARED);
            // SAFETY: a new mapping, at a place that the system chooses, touches nothing that exists; that the file
            // keeps its bytes is what `Mapped` asks for.
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
                // SAFETY: it is this mapping's own, and no slice of it outlives `self`.
                let _ = unsafe { munmap(start, length.get()) };
            }
        }
    }
}

/// Where files are not mapped they are read.
#[cfg(not(unix))]
#[derive(Debug)]
struct Bytes(Vec<u8>);

#[cfg(not(unix))]
impl Bytes {
    fn of(mut file: File) -> std::io::Result<Self> {
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
        let mapped = Mapped::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapped.as_ref(), b"bytes");
        assert!(Mapped::open(&path).is_err());
        std::fs::write(&path, "").unwrap();
        assert!(Mapped::open(&path).unwrap().as_ref().is_empty());
    }
}
