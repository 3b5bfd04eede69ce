//! Writes columns of numbers and texts as a NumPy archive with one array per column.

use std::io::{Cursor, Write as _};

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int8Type, Int32Type, Int64Type};
use tsql_error::{Error, Result};
use tsql_formats::npy::format_row_major_header;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Encodes an archive of these columns, and an additional array with the rows of each group.
pub(super) fn encode_archive(batch: &RecordBatch, group_sizes: Option<&[i64]>) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut write = |name: &str, descr: &str, shape: &[usize], values: &[u8]| {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(true);
        let started = zip.start_file(format!("{name}.npy"), options);
        started.map_err(|error| Error::io(name)(error.into()))?;
        let head = format_row_major_header(descr, shape);
        zip.write_all(&head).map_err(Error::io(name))?;
        zip.write_all(values).map_err(Error::io(name))
    };
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let rows = column.len();
        let (flat, shape) = match column.data_type() {
            DataType::FixedSizeList(_, width) => {
                let list = column.as_fixed_size_list();
                let width = usize::try_from(*width).unwrap_or_default();
                let begin = list.value_offset(0);
                let begin = usize::try_from(begin).unwrap_or_default();
                (list.values().slice(begin, rows * width), vec![rows, width])
            }
            _ => (column.clone(), vec![rows]),
        };
        let (descr, values) = encode_column(field.name(), &flat)?;
        write(field.name(), &descr, &shape, &values)?;
    }
    if let Some(sizes) = group_sizes {
        let values: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        write("group_sizes", "<i8", &[sizes.len()], &values)?;
    }
    let finished = zip.finish();
    let finished = finished.map_err(|error| Error::io("npz")(error.into()))?;
    Ok(finished.into_inner())
}

/// Returns NumPy's type and the bytes of all values; a NULL time becomes NaN.
fn encode_column(name: &str, column: &ArrayRef) -> Result<(String, Vec<u8>)> {
    let is_float = matches!(column.data_type(), DataType::Float32 | DataType::Float64);
    if column.null_count() > 0 && !is_float {
        let reason = format!(
            "`{name}` has NULLs, which NumPy arrays cannot contain\nhint: --file-format parquet"
        );
        return Err(Error::Argument {
            name: "files",
            reason,
        });
    }
    macro_rules! plain {
        ($of:ty, $descr:literal) => {{
            let values = column.as_primitive::<$of>().values().iter();
            (
                $descr.to_owned(),
                values.flat_map(|value| value.to_le_bytes()).collect(),
            )
        }};
    }
    Ok(match column.data_type() {
        DataType::Int8 => plain!(Int8Type, "|i1"),
        DataType::Int32 => plain!(Int32Type, "<i4"),
        DataType::Int64 => plain!(Int64Type, "<i8"),
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>().iter();
            let values = values.flat_map(|value| value.unwrap_or(f32::NAN).to_le_bytes());
            ("<f4".to_owned(), values.collect())
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>().iter();
            let values = values.flat_map(|value| value.unwrap_or(f64::NAN).to_le_bytes());
            ("<f8".to_owned(), values.collect())
        }
        DataType::Boolean => {
            let values = column.as_boolean().iter();
            let values = values.map(|value| u8::from(value.unwrap_or_default()));
            ("|b1".to_owned(), values.collect())
        }
        DataType::Utf8 => {
            let texts = column.as_string::<i32>();
            let longest = texts
                .iter()
                .flatten()
                .map(|text| text.chars().count())
                .max();
            let width = longest.unwrap_or_default().max(1);
            let mut values = Vec::with_capacity(texts.len() * width * 4);
            for text in texts {
                let own = text.unwrap_or_default().chars().map(u32::from);
                let own = own.chain(std::iter::repeat(0)).take(width);
                values.extend(own.flat_map(u32::to_le_bytes));
            }
            (format!("<U{width}"), values)
        }
        other => {
            return Err(Error::Internal(format!(
                "`{name}` is {other}, which npz files cannot contain"
            )));
        }
    })
}
