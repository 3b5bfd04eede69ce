//! GraphNet: samples, which are directories with a captured graph, and benchmark logs.

mod captured;
mod runs;
mod taking;
mod texts;

use std::collections::HashSet;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_formats::graphnet::NAME;

use super::platform::NO_PLATFORM;
use super::source::SourceFile;
use super::{Giver, Giving, Out, Portion, Proof, Recomputed};
use crate::column;
use crate::error::Result;
use crate::query::collect;

pub(crate) use taking::{Logs, Samples};
pub(crate) use texts::Texts;

/// Its room.
pub(crate) struct Room;

impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn has_logs(&self) -> bool {
        true
    }

    fn giver<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn Giver + 'a>>> {
        let texts = Texts::default();
        let giver: Box<dyn Giver> = Box::new(TextGiver { context, texts });
        Box::pin(ready(Ok(giver)))
    }

    /// Rows of the hub's Parquet have a path of their own.
    fn hub_path(&self, source: &SourceFile) -> Option<String> {
        let hub = source.collection.is_some();
        hub.then(|| source.path.clone())
    }

    /// With the variants of each.
    fn samples<'a>(
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

    /// Captured graphs are what their content hashes say.
    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<Recomputed>> {
        Box::pin(async move {
            let mut recomputed = Recomputed::default();
            for (id, (key, graph)) in captured::graphs(context, "true").await? {
                let same = graph.is_some_and(|graph| graph.content_hash() == key);
                let wrong = (!same).then(|| format!("{id} is not what its content hash says"));
                recomputed.add("graphs", wrong);
            }
            Ok(recomputed)
        })
    }
}

/// Is it a file that belongs to no sample and has no records?
pub(crate) fn is_kept_whole(source: &SourceFile) -> bool {
    source.dataset == NAME && source.sample_id.is_none() && source.platform == NO_PLATFORM
}

/// Gives files back from their texts.
struct TextGiver<'a> {
    context: &'a SessionContext,
    /// Those of the portion.
    texts: Texts,
}

impl Giver for TextGiver<'_> {
    fn begin<'a>(&'a mut self, portion: &'a Portion<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.texts = Texts::load(self.context, portion.sources()).await?;
            Ok(())
        })
    }

    fn give<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn Out,
    ) -> BoxFuture<'a, Result<Proof>> {
        Box::pin(async move {
            for text in self.texts.of(source) {
                out.write(&text?);
            }
            Ok(Proof::Bytes)
        })
    }
}
