//! MetaSchedule workloads, to which the lines of its tuning records refer.

mod columns;
mod group;
mod lines;
mod parsed;
mod reader;
pub mod stored_workloads;

use std::collections::{BTreeSet, HashMap};

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_error::{Error, Result};
use tsql_formats::metaschedule::workload::NAME;

use lines::{Line, lines_of_sources};

use super::lines::others::{OtherLine, OtherLineWriter, load_others};
use super::source::SourceFile;
use super::texts::load_texts;
use super::{ExportBatch, ExportFormat, FileOutput, FileProof, FormatWriter, HashCheck};

pub(super) use reader::WorkloadReader;

/// The export format of workloads.
pub(super) struct Format;

impl ExportFormat for Format {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        let giver: Box<dyn FormatWriter> = Box::new(WorkloadWriter {
            context,
            rows: HashMap::new(),
            others: HashMap::new(),
        });
        Box::pin(ready(Ok(giver)))
    }

    fn referenced_sources<'a>(
        &'a self,
        context: &'a SessionContext,
        records: &'a BTreeSet<i64>,
    ) -> BoxFuture<'a, Result<BTreeSet<i64>>> {
        Box::pin(async move { stored_workloads::referenced_workloads(context, records).await })
    }

    fn recompute<'a>(&'a self, _: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(ready(Ok(HashCheck::default())))
    }
}

/// Writes workload files.
struct WorkloadWriter<'a> {
    context: &'a SessionContext,
    /// Lines of the current batch.
    rows: HashMap<i64, Vec<Line>>,
    others: HashMap<i64, Vec<OtherLine>>,
}

impl FormatWriter for WorkloadWriter<'_> {
    fn begin_batch<'a>(&'a mut self, portion: &'a ExportBatch<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.rows = lines_of_sources(self.context, &portion.source_ids()).await?;
            self.others = load_others(self.context, &portion.source_ids()).await?;
            Ok(())
        })
    }

    fn write_file<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn FileOutput,
    ) -> BoxFuture<'a, Result<FileProof>> {
        Box::pin(async move {
            let broken = |line: &Line, what: &str| {
                let reason = format!("line {} of {}: {what}", line.number, source.name);
                Error::damaged("workloads", reason)
            };
            let rows = self
                .rows
                .get(&source.rows_of)
                .map_or(&[][..], Vec::as_slice);
            let modules = rows.iter().filter_map(|line| line.spelled.module());
            let modules = load_texts(self.context, &modules.collect::<Vec<_>>()).await?;
            let mut others = OtherLineWriter::for_source(&self.others, source);
            for line in rows {
                others.write_before(line.number, out);
                let text = line.spelled.text(&modules, source.is_crlf());
                let mut text = text.ok_or_else(|| broken(line, "its module is missing"))?;
                if !source.is_open(line.number, "record", None) {
                    text.push(b'\n');
                }
                out.write(&text);
            }
            others.write_before(u64::MAX, out);
            Ok(FileProof::Bytes)
        })
    }
}
