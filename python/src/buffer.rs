//! Numbers that NumPy and torch take without a copy, by Python's buffer protocol.
#![allow(unsafe_code, reason = "the buffer protocol is one of C")]

use std::ffi::c_int;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use tsql::arrow::buffer::Buffer as Bytes;
use tsql::arrow::datatypes::ArrowNativeType;

/// Bytes of an array, which live as long as anything looks at them.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Buffer {
    bytes: Bytes,
    /// Nobody else has them: whoever gets them may write.
    own: bool,
}

impl Buffer {
    /// Bytes that others may have, too: they are for reading.
    pub(crate) fn shared(bytes: Bytes) -> Self {
        Self { bytes, own: false }
    }

    /// A copy, which nobody else has, aligned for all numbers.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        let bytes = Bytes::from_slice_ref(bytes);
        Self { bytes, own: true }
    }

    /// Numbers that nobody else has.
    pub(crate) fn own<T: ArrowNativeType>(numbers: Vec<T>) -> Self {
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
        // SAFETY: the bytes live as long as `slf`, which the view keeps. Who may write is the only one that has them.
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
