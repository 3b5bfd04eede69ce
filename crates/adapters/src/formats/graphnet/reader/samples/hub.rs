//! Samples of the hub: rows of a Parquet file.

use std::collections::HashSet;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};

use arrow::array::{Array as _, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{ChunkReader, Length};
use tsql_error::{Error, Result};
use tsql_formats::{FileHandle, FileReader, Input};

use super::member::Member;

/// Returns whether a Parquet file has the columns of the hub.
pub(super) fn is_hub_file(opened: &FileHandle) -> bool {
    let builder = ParquetRecordBatchReaderBuilder::try_new(ParquetSource(opened.clone()));
    builder.is_ok_and(|builder| {
        let known = |name: &&str| builder.schema().field_with_name(name).is_ok();
        ["path", "content"].iter().all(known)
    })
}

/// A Parquet file.
struct ParquetSource(FileHandle);

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        self.0.size().unwrap_or(0)
    }
}

impl ChunkReader for ParquetSource {
    type T = BufReader<FileReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let mut bytes = self.0.reader();
        bytes.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(bytes))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        let mut read = Vec::with_capacity(length);
        let mut rest = self.get_read(start)?.take(length as u64);
        if rest.read_to_end(&mut read)? < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(read.into())
    }
}

/// Columns of the hub's Parquet files.
const COLUMNS: [&str; 3] = ["path", "content", "source_folder"];

/// Passes the files in a Parquet file of the hub to `take`, with their content only if `content` is set.
/// Returns `None` if the receiver stopped.
pub(super) fn read_rows(
    input: &Input,
    opened: &FileHandle,
    content: bool,
    take: &mut dyn FnMut(Member) -> Option<()>,
) -> Result<Option<()>> {
    let broken = |reason: String| Error::Source {
        location: input.path.clone(),
        reason,
    };
    let builder = ParquetRecordBatchReaderBuilder::try_new(ParquetSource(opened.clone()))
        .map_err(|error| broken(error.to_string()))?;
    let wanted = COLUMNS.iter().filter(|name| content || **name != "content");
    let known = builder
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().as_str());
    let known: HashSet<&str> = known.collect();
    let missing = wanted
        .clone()
        .find(|name| !known.contains(**name) && **name != "source_folder");
    if let Some(missing) = missing {
        return Err(broken(format!(
            "no column `{missing}`\n\
             hint: expected a Parquet file of GraphNet's hub with the columns path, content, \
             source_folder"
        )));
    }
    let mask = parquet::arrow::ProjectionMask::columns(builder.parquet_schema(), wanted.copied());
    let rows = builder
        .with_projection(mask)
        .with_batch_size(64)
        .build()
        .map_err(|error| broken(error.to_string()))?;
    for batch in rows {
        let batch = batch.map_err(|error| broken(error.to_string()))?;
        let text = |name: &str| -> Result<Option<StringViewArray>> {
            let Some(column) = batch.column_by_name(name) else {
                return Ok(None);
            };
            let cast =
                cast(column, &DataType::Utf8View).map_err(|error| broken(error.to_string()))?;
            Ok(cast.as_any().downcast_ref().cloned())
        };
        let (paths, contents, folders) = (text("path")?, text("content")?, text("source_folder")?);
        let Some(paths) = paths else { continue };
        for row in 0..batch.num_rows() {
            let at = |column: &Option<StringViewArray>| {
                let column = column.as_ref().filter(|column| column.is_valid(row));
                column.map(|column| column.value(row).to_owned())
            };
            let path = paths.value(row).to_owned();
            let source_folder = at(&folders);
            let name = match &source_folder {
                Some(folder) if !folder.is_empty() && !path.starts_with(&format!("{folder}/")) => {
                    format!("{folder}/{path}")
                }
                _ => path.clone(),
            };
            let bytes = at(&contents).unwrap_or_default().into_bytes();
            let member = Member {
                name,
                path,
                untold: bytes.len() as u64,
                bytes,
                source_folder: Some(source_folder.unwrap_or_default()),
            };
            if take(member).is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(()))
}
