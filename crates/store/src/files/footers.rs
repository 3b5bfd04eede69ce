//! Reports damaged footers as errors, even if the Parquet reader panics. Footers of files without checksums are read
//! unverified.

use std::fmt;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;

use tsql_error::DamagedFile;

/// Reader factory whose readers return an error instead of a panic over a footer.
#[derive(Debug)]
pub(crate) struct PanicSafeReaders<F>(pub(crate) F);

impl<F: ParquetFileReaderFactory> ParquetFileReaderFactory for PanicSafeReaders<F> {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let location = file.object_meta.location.to_string();
        let inner = self
            .0
            .create_reader(partition_index, file, metadata_size_hint, metrics)?;
        Ok(Box::new(PanicSafeReader { location, inner }))
    }
}

struct PanicSafeReader {
    location: String,
    inner: Box<dyn AsyncFileReader + Send>,
}

impl fmt::Debug for PanicSafeReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CaughtReader({})", self.location)
    }
}

impl AsyncFileReader for PanicSafeReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.inner.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.inner.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let read = AssertUnwindSafe(self.inner.get_metadata(options)).catch_unwind();
        let location = &self.location;
        let caught = read.map(|read| {
            read.unwrap_or_else(|_| {
                let damage = DamagedFile::new(location, "its footer is");
                Err(ParquetError::External(Box::new(damage)))
            })
        });
        caught.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl AsyncFileReader for Panics {
        fn get_bytes(&mut self, _: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
            async { Ok(Bytes::new()) }.boxed()
        }

        fn get_metadata<'a>(
            &'a mut self,
            _: Option<&'a ArrowReaderOptions>,
        ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
            async { panic!("index out of bounds") }.boxed()
        }
    }

    #[tokio::test]
    async fn a_panic_over_a_footer_is_an_error_that_names_the_file() {
        let mut reader = PanicSafeReader {
            location: "records/part-1.parquet".to_owned(),
            inner: Box::new(Panics),
        };
        let told = reader.get_metadata(None).await.unwrap_err().to_string();
        assert!(told.contains("`records/part-1.parquet`"), "{told}");
    }
}
