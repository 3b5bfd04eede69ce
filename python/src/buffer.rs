//! Shares numbers with NumPy and torch without a copy, by Python's buffer protocol.
#![allow(unsafe_code, reason = "the buffer protocol is one of C")]

use std::ffi::c_int;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use tsql::arrow::buffer::Buffer as Bytes;
use tsql::arrow::datatypes::ArrowNativeType;

/// Bytes of an array, which live as long as any view of them.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Buffer {
    bytes: Bytes,
    /// True if no one else shares the bytes, so that views may be writable.
    own: bool,
}

impl Buffer {
    /// Wraps shared bytes; views are read-only.
    pub(crate) fn read_only(bytes: Bytes) -> Self {
        Self { bytes, own: false }
    }

    /// Copies the bytes, aligned for all number types; views are writable.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        let bytes = Bytes::from_slice_ref(bytes);
        Self { bytes, own: true }
    }

    /// Wraps owned numbers; views are writable.
    pub(crate) fn from_vec<T: ArrowNativeType>(numbers: Vec<T>) -> Self {
        let bytes = Bytes::from_vec(numbers);
        Self { bytes, own: true }
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        if view.is_null() {
            return Err(PyBufferError::new_err("no view"));
        }
        let length = isize::try_from(this.bytes.len())
            .map_err(|_| PyBufferError::new_err("more bytes than can be addressed"))?;
        let start = this.bytes.as_ptr().cast_mut().cast();
        // SAFETY: the bytes live as long as `slf`, which the view keeps alive. A writable view exists only if
        // no one else shares the bytes.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                start,
                length,
                c_int::from(!this.own),
                flags,
            )
        };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
