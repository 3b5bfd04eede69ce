//! TpuGraphs: an npz file is a graph with its configurations and their runtimes.

mod arrays;
mod loader;
mod reader;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_error::Result;
use tsql_formats::tpugraphs::NAME;
use tsql_schema::column;

use arrays::{Arrays, Npz, NullSink};

use super::source::SourceFile;
use super::{ExportFormat, FileOutput, FileProof, FormatWriter, HashCheck};

pub use loader::{Configurations, Loader, Samples, node_features};
pub(crate) use reader::NpzReader;

/// The export format of TpuGraphs.
pub(super) struct Format;

impl ExportFormat for Format {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        let giver: Box<dyn FormatWriter> = Box::new(NpzWriter(Loader::from_context(context)));
        Box::pin(ready(Ok(giver)))
    }

    /// Compares graphs with nodes with their content hashes.
    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(async move {
            let mut loader = Loader::from_context(context);
            let mut recomputed = HashCheck::default();
            let sql =
                "SELECT graph_id, workload_key FROM stored.graphs WHERE kind IN ('tile', 'layout')";
            for batch in loader.collect(sql).await? {
                let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
                let keys = column::text(&batch, "workload_key")?;
                for row in 0..batch.num_rows() {
                    let id = ids.value(row);
                    let wrong = match loader.graph(id).await {
                        Ok(graph) if graph.content_hash() == keys.value(row) => None,
                        Ok(_) => Some(format!("{id} does not match its content hash")),
                        Err(error) => Some(error.to_string()),
                    };
                    recomputed.add("graphs", wrong);
                }
            }
            Ok(recomputed)
        })
    }
}

/// Writes npz files.
struct NpzWriter(Loader);

impl FormatWriter for NpzWriter {
    fn write_file<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn FileOutput,
    ) -> BoxFuture<'a, Result<FileProof>> {
        Box::pin(async move {
            let arrays = Arrays::load(&mut self.0, source).await?;
            let hash = match out.file() {
                None => arrays.write(&mut NullSink)?,
                Some((file, path)) => {
                    let mut npz = Npz::new(file, path);
                    let hash = arrays.write(&mut npz)?;
                    npz.finish()?;
                    hash
                }
            };
            let ingested = source.segments.first();
            let ingested = ingested.and_then(|segment| segment.arrays_hash.as_ref());
            let damage = (Some(&hash) != ingested)
                .then(|| format!("rebuilt arrays with hash {hash}, expected another hash"));
            Ok(FileProof::Content(damage))
        })
    }
}
