//! Running queries and their cancellation.
//!
//! A client keeps a stream open for the duration of a query. When the stream ends, for any reason, the rows are
//! not needed. From then on each file read fails, and with it the rest of the query.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// A stage task that runs on this worker.
#[derive(Debug)]
pub(super) struct RunningQuery {
    over: AtomicBool,
    until: Instant,
    deadline: Duration,
}

/// Reason why a query was stopped.
#[derive(Debug, thiserror::Error)]
enum Over {
    #[error("the query was cancelled")]
    Unwanted,
    #[error(
        "the worker's deadline of {0:?} has passed\nhint: `tsql worker run --deadline` sets it"
    )]
    Late(Duration),
}

impl RunningQuery {
    fn check(&self) -> ParquetResult<()> {
        let over = if self.over.load(Ordering::Relaxed) {
            Over::Unwanted
        } else if Instant::now() > self.until {
            Over::Late(self.deadline)
        } else {
            return Ok(());
        };
        Err(ParquetError::External(Box::new(over)))
    }
}

/// All stage tasks that run on this worker.
#[derive(Clone, Debug)]
pub(super) struct RunningQueries {
    deadline: Duration,
    next: Arc<AtomicU64>,
    running: Arc<Mutex<HashMap<u64, Arc<RunningQuery>>>>,
}

/// Guard that stops the query when it is dropped.
#[derive(Debug)]
pub(super) struct QueryGuard {
    number: u64,
    questions: RunningQueries,
}

impl Drop for QueryGuard {
    fn drop(&mut self) {
        if let Some(question) = self.questions.lock_running().remove(&self.number) {
            question.over.store(true, Ordering::Relaxed);
        }
    }
}

impl QueryGuard {
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl RunningQueries {
    pub(super) fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            next: Arc::default(),
            running: Arc::default(),
        }
    }

    fn lock_running(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<RunningQuery>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a stage task.
    pub(super) fn begin(&self) -> QueryGuard {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let question = RunningQuery {
            over: AtomicBool::new(false),
            until: Instant::now() + self.deadline,
            deadline: self.deadline,
        };
        self.lock_running().insert(number, Arc::new(question));
        QueryGuard {
            number,
            questions: self.clone(),
        }
    }

    pub(super) fn find(&self, number: u64) -> Option<Arc<RunningQuery>> {
        self.lock_running().get(&number).cloned()
    }

    /// Returns the number of running tasks.
    pub(super) fn count(&self) -> usize {
        self.lock_running().len()
    }
}

/// Factory of readers that fail once the query was stopped.
#[derive(Debug)]
pub(super) struct CancellableReaderFactory {
    pub(super) inner: Arc<dyn ParquetFileReaderFactory>,
    pub(super) question: Arc<RunningQuery>,
}

impl ParquetFileReaderFactory for CancellableReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let inner = self
            .inner
            .create_reader(partition_index, file, metadata_size_hint, metrics)?;
        Ok(Box::new(CancellableReader {
            inner,
            question: Arc::clone(&self.question),
        }))
    }
}

struct CancellableReader {
    inner: Box<dyn AsyncFileReader + Send>,
    question: Arc<RunningQuery>,
}

impl fmt::Debug for CancellableReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WantedReader")
    }
}

impl AsyncFileReader for CancellableReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        match self.question.check() {
            Ok(()) => self.inner.get_bytes(range),
            Err(over) => async { Err(over) }.boxed(),
        }
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        match self.question.check() {
            Ok(()) => self.inner.get_byte_ranges(ranges),
            Err(over) => async { Err(over) }.boxed(),
        }
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        match self.question.check() {
            Ok(()) => self.inner.get_metadata(options),
            Err(over) => async { Err(over) }.boxed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_ends_with_its_client_or_its_deadline() {
        let questions = RunningQueries::new(Duration::from_secs(60));
        let running = questions.begin();
        let question = questions.find(running.number()).unwrap();
        assert!(question.check().is_ok());
        assert_eq!(questions.count(), 1);
        drop(running);
        assert_eq!(questions.count(), 0);
        let told = question.check().unwrap_err().to_string();
        assert!(told.contains("the query was cancelled"), "{told}");
        let questions = RunningQueries::new(Duration::ZERO);
        let running = questions.begin();
        std::thread::sleep(Duration::from_millis(2));
        let late = questions.find(running.number()).unwrap();
        let told = late.check().unwrap_err().to_string();
        assert!(told.contains("deadline"), "{told}");
    }
}
