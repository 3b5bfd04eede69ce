//! Arrow's C interface: imports tables, and exports rows.
//!
//! Source: the Arrow `PyCapsule` interface, <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
#![allow(unsafe_code, reason = "capsules hold pointers to structs of C")]

use std::fs::File;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tsql::Error;
use tsql::arrow::array::{Array as _, RecordBatch, RecordBatchReader, StructArray};
use tsql::arrow::datatypes::{Schema, SchemaRef};
use tsql::arrow::error::ArrowError;
use tsql::arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use tsql::arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use tsql::arrow::ipc::writer::FileWriter;

use crate::errors::{argument_error, to_py_err};

/// Imports the rows of a Python object that exports them: a frame of polars or pandas, a table of pyarrow, a
/// relation of DuckDB.
///
/// # Errors
/// `tsql.errors.Argument` for an object that exports nothing, or whose stream fails.
pub(crate) fn import_rows(given: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = given.py();
    let broken = |error: ArrowError| argument_error(py, "tables", error.to_string());
    if given.hasattr("__arrow_c_stream__")? {
        let capsule = given.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        let stream: NonNull<FFI_ArrowArrayStream> = stream.cast();
        // SAFETY: a capsule of this name holds such a struct, which is moved out and marked as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let reader = ArrowArrayStreamReader::try_new(stream).map_err(broken)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(broken)?;
        // A reader gives its rows once, and is empty afterwards.
        if batches.is_empty() && given.hasattr("read_next_batch")? {
            let reason = "the reader has no batch: it was read already, or is empty\nhint: `reader.read_all()` is a table, which can be read again";
            return Err(argument_error(py, "tables", reason));
        }
        return Ok((schema, batches));
    }
    if given.hasattr("__arrow_c_array__")? {
        let pair = given.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        let schema: NonNull<FFI_ArrowSchema> =
            schema.pointer_checked(Some(c"arrow_schema"))?.cast();
        let array: NonNull<FFI_ArrowArray> = array.pointer_checked(Some(c"arrow_array"))?.cast();
        // SAFETY: capsules of these names hold such structs; the array is moved out, the schema is only read.
        let data = unsafe {
            let array = FFI_ArrowArray::from_raw(array.as_ptr());
            tsql::arrow::ffi::from_ffi(array, schema.as_ref())
        };
        let rows = StructArray::from(data.map_err(broken)?);
        if rows.null_count() > 0 {
            return Err(argument_error(
                py,
                "tables",
                "the table has rows that are NULL as a whole",
            ));
        }
        let batch = RecordBatch::from(rows);
        return Ok((batch.schema(), vec![batch]));
    }
    let name = given.get_type().name()?;
    Err(argument_error(
        py,
        "tables",
        format!(
            "`{name}` is not a table\nhint: a frame of pandas or polars, a table of pyarrow, a relation of DuckDB, or anything with __arrow_c_stream__"
        ),
    ))
}

/// Writes the rows of a Python object as an Arrow file.
#[pyfunction]
pub(crate) fn write_arrow(given: &Bound<'_, PyAny>, path: PathBuf) -> PyResult<()> {
    let py = given.py();
    let (schema, batches) = import_rows(given)?;
    let written = py.detach(|| {
        let mut writer = FileWriter::try_new_buffered(File::create(&path)?, &schema)?;
        for batch in &batches {
            writer.write(batch)?;
        }
        writer.finish()
    });
    written.map_err(|error| {
        let source = std::io::Error::other(error);
        to_py_err(py, &Error::Io { path, source })
    })
}

/// Exports a schema.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema);
    let schema = schema.map_err(|error| argument_error(py, "schema", error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Imports the schema that a consumer requests.
pub(crate) fn import_schema(capsule: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let schema: NonNull<FFI_ArrowSchema> = capsule.pointer_checked(Some(c"arrow_schema"))?.cast();
    // SAFETY: a capsule of this name holds such a struct, and it is only read.
    let schema = Schema::try_from(unsafe { schema.as_ref() });
    let broken =
        |error: ArrowError| argument_error(capsule.py(), "requested_schema", error.to_string());
    schema.map(Arc::new).map_err(broken)
}

/// Exports a stream of rows; it is closed with the capsule if no consumer imports it.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    rows: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(rows), c"arrow_array_stream")
}

/// Exports a batch: its schema and its rows.
pub(crate) fn batch_capsules<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Bound<'py, PyTuple>> {
    let rows = StructArray::from(batch.clone());
    let broken = |error: ArrowError| argument_error(py, "batch", error.to_string());
    let (array, _) = to_ffi(&rows.to_data()).map_err(broken)?;
    let schema = schema_capsule(py, &batch.schema())?;
    let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
    PyTuple::new(py, [schema, array])
}
