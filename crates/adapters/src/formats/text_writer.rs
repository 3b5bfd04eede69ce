//! Export of files whose bytes are stored in `texts`.

use std::collections::HashMap;

use datafusion::prelude::SessionContext;
use futures::future::BoxFuture;
use tsql_error::{Error, Result};

use super::source::SourceFile;
use super::texts::load_texts;
use super::{ExportBatch, FileOutput, FileProof, FormatWriter};

/// Writer of such files.
pub(super) struct TextWriter<'a> {
    context: &'a SessionContext,
    /// File contents of the current batch.
    texts: HashMap<i64, Vec<u8>>,
}

impl<'a> TextWriter<'a> {
    pub(super) fn new(context: &'a SessionContext) -> Self {
        let texts = HashMap::new();
        Self { context, texts }
    }
}

/// Text identifiers of a file's segments.
fn text_ids(source: &SourceFile) -> impl Iterator<Item = i64> {
    source.segments.iter().filter_map(|segment| segment.text_id)
}

impl FormatWriter for TextWriter<'_> {
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
