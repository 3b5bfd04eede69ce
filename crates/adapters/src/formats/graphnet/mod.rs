//! GraphNet: samples (directories with a captured graph) and benchmark logs.

mod captured;
mod reader;
mod runs;
mod texts;

use std::collections::HashSet;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::graphnet::NAME;
use tsql_schema::column;

use super::platform::NO_PLATFORM;
use super::source::SourceFile;
use super::{ExportBatch, ExportFormat, FileOutput, FileProof, FormatWriter, HashCheck};

pub(crate) use reader::{LogReader, SampleReader};
pub use texts::FileTexts;

/// The export format of GraphNet.
pub struct Format;

impl ExportFormat for Format {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn has_logs(&self) -> bool {
        true
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        let texts = FileTexts::default();
        let giver: Box<dyn FormatWriter> = Box::new(TextWriter { context, texts });
        Box::pin(ready(Ok(giver)))
    }

    /// Rows of the hub's Parquet have a path of their own.
    fn hub_path(&self, source: &SourceFile) -> Option<String> {
        let hub = source.collection.is_some();
        hub.then(|| source.path.clone())
    }

    /// Includes the variants of each sample.
    fn select_samples<'a>(
        &'a self,
        context: &'a SessionContext,
        predicate: &'a str,
    ) -> BoxFuture<'a, Result<HashSet<i64>>> {
        Box::pin(async move {
            let sql = format!(
                "WITH chosen AS (SELECT sample_id, path FROM samples WHERE {predicate}) \
             SELECT sample_id FROM chosen UNION \
             SELECT sample_id FROM samples WHERE variant_of IN (SELECT path FROM chosen)"
            );
            let mut ids = HashSet::new();
            for batch in collect(context, &sql).await? {
                let found = column::numbers::<Int64Type>(&batch, "sample_id")?;
                ids.extend(found.values());
            }
            Ok(ids)
        })
    }

    /// Compares captured graphs with their content hashes.
    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(async move {
            let mut recomputed = HashCheck::default();
            for (id, (key, graph)) in captured::load_graphs(context, "true").await? {
                let same = graph.is_some_and(|graph| graph.content_hash() == key);
                let wrong = (!same).then(|| format!("{id} does not match its content hash"));
                recomputed.add("graphs", wrong);
            }
            Ok(recomputed)
        })
    }
}

/// Returns whether a file belongs to no sample and has no records.
pub fn is_loose_file(source: &SourceFile) -> bool {
    source.dataset == NAME && source.sample_id.is_none() && source.platform == NO_PLATFORM
}

/// Writes files from their stored texts.
struct TextWriter<'a> {
    context: &'a SessionContext,
    /// Texts of the current batch.
    texts: FileTexts,
}

impl FormatWriter for TextWriter<'_> {
    fn begin_batch<'a>(&'a mut self, portion: &'a ExportBatch<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.texts = FileTexts::load(self.context, portion.sources()).await?;
            Ok(())
        })
    }

    fn write_file<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn FileOutput,
    ) -> BoxFuture<'a, Result<FileProof>> {
        Box::pin(async move {
            for text in self.texts.read_parts(source) {
                out.write(&text?);
            }
            Ok(FileProof::Bytes)
        })
    }
}
