//! TpuGraphs: one npz file is a graph with its configurations and their runtimes.

mod arrays;
mod loading;
mod taking;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_formats::tpugraphs::NAME;

use super::source::SourceFile;
use super::{Giver, Giving, Out, Proof, Recomputed};
use crate::column;
use crate::error::Result;
use arrays::{Arrays, Nowhere, Npz};

pub(crate) use loading::{Configurations, Loader, Samples, node_features};
pub(crate) use taking::Files;

/// Its room.
pub(super) struct Room;

impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn giver<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn Giver + 'a>>> {
        let giver: Box<dyn Giver> = Box::new(ArrayGiver(Loader::of(context)));
        Box::pin(ready(Ok(giver)))
    }

    /// Graphs with nodes are what their content hashes say.
    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<Recomputed>> {
        Box::pin(async move {
            let mut loader = Loader::of(context);
            let mut recomputed = Recomputed::default();
            let sql =
                "SELECT graph_id, workload_key FROM stored.graphs WHERE kind IN ('tile', 'layout')";
            for batch in loader.collect(sql).await? {
                let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
                let keys = column::text(&batch, "workload_key")?;
                for row in 0..batch.num_rows() {
                    let id = ids.value(row);
                    let wrong = match loader.graph(id).await {
                        Ok(graph) if graph.content_hash() == keys.value(row) => None,
                        Ok(_) => Some(format!("{id} is not what its content hash says")),
                        Err(error) => Some(error.to_string()),
                    };
                    recomputed.add("graphs", wrong);
                }
            }
            Ok(recomputed)
        })
    }
}

/// Gives npz files back.
struct ArrayGiver(Loader);

impl Giver for ArrayGiver {
    fn give<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn Out,
    ) -> BoxFuture<'a, Result<Proof>> {
        Box::pin(async move {
            let arrays = Arrays::load(&mut self.0, source).await?;
            let hash = match out.file() {
                None => arrays.write(&mut Nowhere)?,
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
                .then(|| format!("rebuilt arrays with hash {hash}, ingested were others"));
            Ok(Proof::Content(damage))
        })
    }
}
