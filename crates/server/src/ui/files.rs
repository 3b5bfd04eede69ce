//! Downloads of a result, streamed in parts. They contain the stored rows: all rows, unless the size limit was reached.

use std::sync::Arc;

use axum::body::Bytes;
use parquet::arrow::ArrowWriter;
use tokio::sync::mpsc::Sender;
use tsql_error::{Error, Result};

use super::result_file::ResultFile;
use super::windows::texts;

/// File formats by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Complete values in the format of the page; empty for NULL.
    Csv,
    /// Values in their original types.
    Parquet,
}

impl FileKind {
    /// Parses `rows.csv` or `rows.parquet`.
    pub(super) fn from_file_name(name: &str) -> Option<Self> {
        match name {
            "rows.csv" => Some(Self::Csv),
            "rows.parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }
}

/// Sender of the response body.
type BodySender = Sender<std::io::Result<Bytes>>;

/// Sends the file while it is written, until the receiver is dropped.
pub(super) async fn send_file(
    stored: Arc<ResultFile>,
    kind: FileKind,
    to: &BodySender,
) -> Result<()> {
    match kind {
        FileKind::Csv => send_csv(&stored, to).await,
        FileKind::Parquet => send_parquet(&stored, to).await,
    }
}

async fn send_csv(stored: &ResultFile, to: &BodySender) -> Result<()> {
    let failed = |error: csv::Error| Error::Internal(error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = stored.schema().fields().iter().map(|field| field.name());
    writer.write_record(names).map_err(failed)?;
    for place in 0..stored.parts() {
        for row in texts(&stored.part(place, None)?, usize::MAX)? {
            let row = row.iter().map(|value| value.as_deref().unwrap_or_default());
            writer.write_record(row).map_err(failed)?;
        }
        let whole = std::mem::replace(&mut writer, csv::Writer::from_writer(Vec::new()));
        let bytes = whole.into_inner();
        let bytes = bytes.map_err(|error| Error::Internal(error.to_string()))?;
        if to.send(Ok(bytes.into())).await.is_err() {
            return Ok(());
        }
    }
    let bytes = writer.into_inner();
    let bytes = bytes.map_err(|error| Error::Internal(error.to_string()))?;
    let _ = to.send(Ok(bytes.into())).await;
    Ok(())
}

async fn send_parquet(stored: &ResultFile, to: &BodySender) -> Result<()> {
    let failed = |error: parquet::errors::ParquetError| Error::Query(error.into());
    let schema = Arc::clone(stored.schema());
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).map_err(failed)?;
    for place in 0..stored.parts() {
        writer.write(&stored.part(place, None)?).map_err(failed)?;
        let bytes = std::mem::take(writer.inner_mut());
        if !bytes.is_empty() && to.send(Ok(bytes.into())).await.is_err() {
            return Ok(());
        }
    }
    let bytes = writer.into_inner().map_err(failed)?;
    let _ = to.send(Ok(bytes.into())).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringViewArray};
    use arrow::compute::concat_batches;
    use arrow::datatypes::Int64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::super::result_file::ResultFileWriter;
    use super::*;

    async fn collect_file(stored: &Arc<ResultFile>, kind: FileKind) -> Vec<u8> {
        let (to, mut taken) = tokio::sync::mpsc::channel(2);
        let stored = Arc::clone(stored);
        let sending = tokio::spawn(async move { send_file(stored, kind, &to).await });
        let mut file = Vec::new();
        while let Some(bytes) = taken.recv().await {
            file.extend_from_slice(&bytes.unwrap());
        }
        sending.await.unwrap().unwrap();
        file
    }

    #[tokio::test]
    async fn files_have_all_rows() {
        let of = |numbers: std::ops::Range<i64>| {
            let texts: StringViewArray = numbers
                .clone()
                .map(|n| (n % 3 != 0).then(|| format!("a \"text\", {n}")))
                .collect();
            let lists = numbers.clone().map(|n| Some(vec![Some(n), None]));
            let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
            let columns: [(&str, ArrayRef); 3] = [
                ("n", Arc::new(numbers.collect::<Int64Array>())),
                ("t", Arc::new(texts)),
                ("l", Arc::new(lists)),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let mut writer =
            ResultFileWriter::new(&folder.path().join("rows"), of(0..1).schema()).unwrap();
        let stored = writer.reader();
        let csv = collect_file(&stored, FileKind::Csv).await;
        assert_eq!(csv, b"n,t,l\n", "no rows");
        for numbers in [0..2, 2..9000, 9000..9003] {
            writer.push(of(numbers)).unwrap();
        }
        writer.flush().unwrap();
        let csv = String::from_utf8(collect_file(&stored, FileKind::Csv).await).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 9004);
        assert_eq!(lines[1], "0,,\"[0, ]\"");
        assert_eq!(lines[9003], "9002,\"a \"\"text\"\", 9002\",\"[9002, ]\"");
        let file = Bytes::from(collect_file(&stored, FileKind::Parquet).await);
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
        let whole = concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(whole, of(0..9003));
    }
}
