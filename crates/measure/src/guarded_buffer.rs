#![expect(unsafe_code, reason = "maps memory and hands it to foreign code")]
//! Buffers of a kernel: page-aligned, between inaccessible guard pages.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use nix::unistd::{SysconfVar, sysconf};

/// Fill byte between the end of a buffer and the end of its last page.
const CANARY: u8 = 0xC5;

/// Memory in pages of its own.
///
/// * It begins at a page boundary. The page before it and the page after its last one are inaccessible.
/// * The rest of its last page holds a known byte.
pub(super) struct Buffer {
    /// Start of the mapping: one page before the data.
    mapping: NonNull<c_void>,
    mapped: NonZeroUsize,
    data: NonNull<u8>,
    length: usize,
    /// Bytes of the accessible pages.
    usable: usize,
}

impl Buffer {
    /// Allocates `length` zero bytes.
    pub(super) fn new(length: usize) -> Result<Self, Errno> {
        let page = sysconf(SysconfVar::PAGE_SIZE)?.unwrap_or(4096);
        let page = usize::try_from(page).map_err(|_| Errno::EINVAL)?;
        let usable = length
            .max(1)
            .checked_next_multiple_of(page)
            .ok_or(Errno::ENOMEM)?;
        let mapped = usable.checked_add(2 * page).and_then(NonZeroUsize::new);
        let mapped = mapped.ok_or(Errno::ENOMEM)?;
        let flags = MapFlags::MAP_PRIVATE;
        // SAFETY: a new mapping at an address chosen by the system affects no existing memory.
        let mapping = unsafe { mmap_anonymous(None, mapped, ProtFlags::PROT_NONE, flags)? };
        // SAFETY: the mapping is at least three pages long.
        let data = unsafe { mapping.byte_add(page) };
        let buffer = Self {
            mapping,
            mapped,
            data: data.cast(),
            length,
            usable,
        };
        // SAFETY: these pages belong to the new mapping, which has no other user.
        unsafe { mprotect(data, usable, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE)? };
        Ok(buffer)
    }

    /// Pointer that is passed to kernels.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.data.as_ptr().cast()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping holds `length` initialised bytes while `self` lives; kernels run only while
        // no slice of it is borrowed.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.length) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.length) }
    }

    /// Fills the rest of the last page.
    pub(super) fn write_canary(&mut self) {
        // SAFETY: the `usable` bytes are mapped and writable; the rest begins within or at their end.
        unsafe {
            let rest = self.data.add(self.length);
            rest.write_bytes(CANARY, self.usable - self.length);
        }
    }

    /// Returns whether bytes after the end were written since [`Self::write_canary`].
    pub(super) fn is_overrun(&self) -> bool {
        // SAFETY: as in `write_canary`.
        let rest = unsafe {
            let rest = self.data.add(self.length);
            std::slice::from_raw_parts(rest.as_ptr(), self.usable - self.length)
        };
        rest.iter().any(|byte| *byte != CANARY)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this buffer, and no slice of it outlives `self`.
        let _ = unsafe { munmap(self.mapping, self.mapped.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_at_a_page_and_holds_zeros() {
        let mut buffer = Buffer::new(10_000).unwrap();
        assert_eq!(buffer.pointer().align_offset(4096), 0);
        assert!(buffer.bytes().iter().all(|byte| *byte == 0));
        buffer.bytes_mut()[9_999] = 7;
        assert_eq!(buffer.bytes()[9_999], 7);
    }

    #[test]
    fn a_write_behind_the_end_is_noticed() {
        let mut buffer = Buffer::new(100).unwrap();
        buffer.write_canary();
        assert!(!buffer.is_overrun());
        // SAFETY: the byte is in the buffer's own page.
        unsafe { buffer.data.add(100).write(0) };
        assert!(buffer.is_overrun());
    }

    #[test]
    fn sizes_at_the_edges_are_handled() {
        for length in [0, 1, 4095, 4096, 4097] {
            let mut buffer = Buffer::new(length).unwrap();
            buffer.write_canary();
            assert_eq!(buffer.bytes_mut().len(), length);
            assert!(!buffer.is_overrun());
        }
        assert!(Buffer::new(usize::MAX - 5000).is_err());
    }
}
