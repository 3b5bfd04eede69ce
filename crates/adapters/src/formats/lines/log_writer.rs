//! Restores a log from its segments, its records and its other lines.

use std::collections::HashMap;

use datafusion::prelude::SessionContext;
use futures::future::BoxFuture;
use tsql_error::Result;
use tsql_formats::Dialect;

use super::others::{OtherLine, OtherLineWriter, load_others};
use super::records::RecordStream;
use super::{LineWriter, recompute, record_rows};
use crate::formats::source::SourceFile;
use crate::formats::{
    ExportBatch, ExportFormat, ExportOrder, FileOutput, FileProof, FormatWriter, HashCheck,
};

/// [`Dialect`] provides everything that the methods need.
impl ExportFormat for Dialect {
    fn dataset(&self) -> &'static str {
        Self::dataset(*self)
    }

    fn has_logs(&self) -> bool {
        true
    }

    fn needs_platform(&self) -> bool {
        true
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(*self)
    }

    fn order(&self) -> ExportOrder {
        ExportOrder::Graphs
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        Box::pin(async move {
            let giver: Box<dyn FormatWriter> = Box::new(LogWriter {
                context,
                lines: LineWriter::load(context, *self).await?,
                records: RecordStream::new(context, &ExportBatch::default()),
                others: HashMap::new(),
            });
            Ok(giver)
        })
    }

    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(async move { recompute(context, Self::dataset(*self)).await })
    }
}

/// Writes the logs of a dataset.
struct LogWriter<'a> {
    context: &'a SessionContext,
    lines: LineWriter,
    /// Records of the current batch.
    records: RecordStream<'a>,
    others: HashMap<i64, Vec<OtherLine>>,
}

impl FormatWriter for LogWriter<'_> {
    fn begin_batch<'a>(&'a mut self, portion: &'a ExportBatch<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.others = load_others(self.context, &portion.source_ids()).await?;
            self.records = RecordStream::new(self.context, portion);
            Ok(())
        })
    }

    fn write_file<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn FileOutput,
    ) -> BoxFuture<'a, Result<FileProof>> {
        Box::pin(async move {
            let (end, last) = (source.line_count(), source.last_segment());
            let mut others = OtherLineWriter::for_source(&self.others, source);
            let crlf = source.is_crlf();
            let mut line = Vec::new();
            while let Some(batch) = self.records.next_of_source(source.rows_of).await? {
                let mut lines = self.lines.for_batch(&batch)?;
                for row in record_rows(&batch)? {
                    // A copy may end inside a line that is complete in the file with the rows.
                    if row.line > end || source.is_open(row.line, "other", Some(last)) {
                        continue;
                    }
                    others.write_before(row.line, out);
                    line.clear();
                    lines.write(&row, crlf, &mut line)?;
                    if !source.is_open(row.line, "record", None) {
                        line.push(b'\n');
                    }
                    out.write(&line);
                }
            }
            others.write_before(u64::MAX, out);
            Ok(FileProof::Bytes)
        })
    }
}
