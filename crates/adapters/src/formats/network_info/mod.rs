//! TenSet's `network_info`: the tasks of networks, and their computations.

mod columns;
mod group;
mod parsed;
mod reader;

use std::collections::HashMap;

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_error::{Error, Result};
use tsql_formats::tenset::networks::NAME;

use super::source::SourceFile;
use super::texts::load_texts;
use super::{ExportBatch, ExportFormat, FileOutput, FileProof, FormatWriter, HashCheck};

pub(super) use reader::NetworkInfoReader;

/// The export format of `network_info`. The bytes of files are stored, because pickles are not canonical.
pub(super) struct Format;

impl ExportFormat for Format {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        let texts = HashMap::new();
        let giver: Box<dyn FormatWriter> = Box::new(FileWriter { context, texts });
        Box::pin(ready(Ok(giver)))
    }

    fn recompute<'a>(&'a self, _: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(ready(Ok(HashCheck::default())))
    }
}

struct FileWriter<'a> {
    context: &'a SessionContext,
    /// File contents of the current batch.
    texts: HashMap<i64, Vec<u8>>,
}

/// Text identifiers of a file's segments.
fn text_ids(source: &SourceFile) -> impl Iterator<Item = i64> {
    source.segments.iter().filter_map(|segment| segment.text_id)
}

impl FormatWriter for FileWriter<'_> {
    fn begin_batch<'a>(&'a mut self, portion: &'a ExportBatch<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let ids: Vec<i64> = portion.sources().flat_map(text_ids).collect();
            self.texts = load_texts(self.context, &ids).await?;
            Ok(())
        })
    }

    fn write_file<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn FileOutput,
    ) -> BoxFuture<'a, Result<FileProof>> {
        Box::pin(async move {
            for id in text_ids(source) {
                let missing =
                    || Error::damaged("texts", format!("{}: its text is missing", source.name));
                out.write(self.texts.get(&id).ok_or_else(missing)?);
            }
            Ok(FileProof::Bytes)
        })
    }
}
