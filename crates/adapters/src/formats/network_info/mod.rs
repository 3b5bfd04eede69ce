//! TenSet's `network_info`: the tasks of networks, and their computations.

mod columns;
mod group;
mod parsed;
mod reader;

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_error::Result;
use tsql_formats::tenset::networks::NAME;

use super::text_writer::TextWriter;
use super::{ExportFormat, FormatWriter, HashCheck};

pub(super) use reader::NetworkInfoReader;

/// The export format of `network_info`. The bytes of files are stored, because pickles are not canonical.
pub(super) struct Format;

impl ExportFormat for Format {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn line_tables(&self) -> &'static [&'static str] {
        &["network_tasks", "relays"]
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        let giver: Box<dyn FormatWriter> = Box::new(TextWriter::new(context));
        Box::pin(ready(Ok(giver)))
    }

    fn recompute<'a>(&'a self, _: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(ready(Ok(HashCheck::default())))
    }
}
