//! The records of a portion's files as they are needed.
//!
//! A question for each file takes a scan for each, one question for all of them takes all memory: files come
//! in portions, and one that is larger than a portion is read bit by bit.

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use crate::column;
use crate::error::{Error, Result};
use crate::formats::Portion;

/// The records of a portion's files, on their way.
pub(super) struct Records<'a> {
    context: &'a SessionContext,
    ids: String,
    graphs: Option<(i64, i64)>,
    /// Lines that are left to be asked for.
    next_line: u64,
    end: u64,
    stream: Option<SendableRecordBatchStream>,
    /// Rows that nobody has taken.
    rest: Option<RecordBatch>,
}

impl<'a> Records<'a> {
    /// Those of a portion.
    pub(super) fn new(context: &'a SessionContext, portion: &Portion<'_>) -> Self {
        let ids = portion.ids();
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

    /// The next records of a source by their lines; `None` after the last. Those of sources with lesser
    /// numbers are gone then.
    pub(super) async fn of(&mut self, source_id: i64) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.next().await? {
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

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
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
            self.ask().await?;
        }
    }

    /// Asks for all records, or for those in the next lines of a large file.
    async fn ask(&mut self) -> Result<()> {
        let mut predicate = format!("r.source_id IN ({})", self.ids);
        if self.end > Portion::LINES {
            let (first, last) = (self.next_line, self.next_line + Portion::LINES - 1);
            predicate += &format!(" AND r.line BETWEEN {first} AND {last}");
            self.next_line = last + 1;
        } else {
            self.next_line = self.end + 1;
        }
        let stream = super::among(self.context, &predicate, self.graphs).await?;
        self.stream = Some(stream);
        Ok(())
    }
}
