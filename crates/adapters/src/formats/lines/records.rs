//! Streams the records of an export batch.
//!
//! A query per file needs a scan per file, and one query for all files needs too much memory. Files are
//! therefore read in batches. A file that is larger than a batch is read in line ranges.

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_error::{Error, Result};
use tsql_schema::column;

use crate::formats::ExportBatch;

/// Stream of the records of an export batch.
pub(super) struct RecordStream<'a> {
    context: &'a SessionContext,
    ids: String,
    graphs: Option<(i64, i64)>,
    /// First line that is not yet queried.
    next_line: u64,
    end: u64,
    stream: Option<SendableRecordBatchStream>,
    /// Rows that are not yet consumed.
    rest: Option<RecordBatch>,
}

impl<'a> RecordStream<'a> {
    /// Creates a stream for a batch.
    pub(super) fn new(context: &'a SessionContext, portion: &ExportBatch<'_>) -> Self {
        let ids = portion.source_ids();
        Self {
            context,
            end: portion.lines,
            ids: ids.join(", "),
            graphs: portion.graphs,
            next_line: 1,
            stream: None,
            rest: None,
        }
    }

    /// Next records of a source, in line order. Returns `None` after the last. Skips the records of sources
    /// with smaller identifiers.
    pub(super) async fn next_of_source(&mut self, source_id: i64) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.next_batch().await? {
            let ids = column::numbers::<Int64Type>(&batch, "source_id")?.values();
            let start = ids.partition_point(|&id| id < source_id);
            let end = ids.partition_point(|&id| id <= source_id);
            let rest = batch.num_rows() - end;
            self.rest = (rest > 0).then(|| batch.slice(end, rest));
            if start < end {
                return Ok(Some(batch.slice(start, end - start)));
            }
            if rest > 0 {
                return Ok(None);
            }
        }
        Ok(None)
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        loop {
            if let Some(stream) = &mut self.stream
                && let Some(batch) = stream.next().await
            {
                return batch.map(Some).map_err(Error::Query);
            }
            if self.next_line > self.end {
                return Ok(None);
            }
            self.start_query().await?;
        }
    }

    /// Queries all records, or those of the next line range of a large file.
    async fn start_query(&mut self) -> Result<()> {
        let mut predicate = format!("r.source_id IN ({})", self.ids);
        if self.end > ExportBatch::MAX_LINES {
            let (first, last) = (self.next_line, self.next_line + ExportBatch::MAX_LINES - 1);
            predicate += &format!(" AND r.line BETWEEN {first} AND {last}");
            self.next_line = last + 1;
        } else {
            self.next_line = self.end + 1;
        }
        let stream = super::records_where(self.context, &predicate, self.graphs).await?;
        self.stream = Some(stream);
        Ok(())
    }
}
