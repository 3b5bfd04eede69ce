//! Converts columns for NumPy and torch: bytes, type, shape, and NULL mask.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use tsql::arrow::array::{Array, ArrayRef, AsArray as _};
use tsql::arrow::buffer::{Buffer as Bytes, NullBuffer};
use tsql::arrow::datatypes::{DataType, TimeUnit};

use crate::buffer::Buffer;
use crate::values::cells;

/// Returns `(bytes, dtype, shape, nulls)` for numbers, times, flags and lists of one length; a list of values
/// for all other types. `nulls` has one byte for each value, 1 for NULL. The bytes are those of the result, or
/// a copy if they must be `writable`.
pub(crate) fn column<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (mut shape, mut flat) = (vec![array.len()], array.clone());
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    while let DataType::FixedSizeList(..) = flat.data_type() {
        let list = flat.as_fixed_size_list();
        let length = usize::try_from(list.value_length()).unwrap_or_default();
        if flat.null_count() > 0 {
            return cells(py, array.as_ref());
        }
        let values = list.values().clone();
        shape.push(length);
        flat = values;
    }
    if shape.len() > 1 && flat.null_count() > 0 {
        return cells(py, array.as_ref());
    }
    if let DataType::Boolean = flat.data_type() {
        let flags: Vec<u8> = flat.as_boolean().values().iter().map(u8::from).collect();
        return (
            Buffer::from_vec(flags),
            "?",
            shape,
            null_mask(nulls.as_ref()),
        )
            .into_bound_py_any(py);
    }
    let Some(dtype) = dtype(flat.data_type()) else {
        return cells(py, array.as_ref());
    };
    let data = flat.to_data();
    let width = data.data_type().primitive_width().unwrap_or(1);
    let Some(bytes) = data.buffers().first() else {
        return cells(py, array.as_ref());
    };
    let bytes: Bytes = bytes.slice_with_length(data.offset() * width, data.len() * width);
    let buffer = match writable {
        true => Buffer::copied(&bytes),
        false => Buffer::read_only(bytes),
    };
    (buffer, dtype, shape, null_mask(nulls.as_ref())).into_bound_py_any(py)
}

/// Returns a byte for each value, 1 for NULL.
fn null_mask(nulls: Option<&NullBuffer>) -> Option<Buffer> {
    let nulls = nulls?.iter().map(|is_there| u8::from(!is_there));
    Some(Buffer::from_vec(nulls.collect::<Vec<u8>>()))
}

/// Returns NumPy's name of a fixed-width type.
fn dtype(kind: &DataType) -> Option<&'static str> {
    Some(match kind {
        DataType::Int8 => "<i1",
        DataType::Int16 => "<i2",
        DataType::Int32 => "<i4",
        DataType::Int64 => "<i8",
        DataType::UInt8 => "<u1",
        DataType::UInt16 => "<u2",
        DataType::UInt32 => "<u4",
        DataType::UInt64 => "<u8",
        DataType::Float16 => "<f2",
        DataType::Float32 => "<f4",
        DataType::Float64 => "<f8",
        DataType::Timestamp(TimeUnit::Second, _) => "<M8[s]",
        DataType::Timestamp(TimeUnit::Millisecond, _) => "<M8[ms]",
        DataType::Timestamp(TimeUnit::Microsecond, _) => "<M8[us]",
        DataType::Timestamp(TimeUnit::Nanosecond, _) => "<M8[ns]",
        DataType::Duration(TimeUnit::Microsecond) => "<m8[us]",
        DataType::Duration(TimeUnit::Nanosecond) => "<m8[ns]",
        _ => return None,
    })
}
