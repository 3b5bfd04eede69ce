//! GraphNet: samples, which are directories with a captured graph, and benchmark logs.

mod captured;
mod runs;
mod taking;
mod texts;

use std::collections::HashSet;

use arrow::datatypes::Int64Type;
use async_trait::async_trait;
use datafusion::prelude::SessionContext;
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

#[async_trait]
impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn has_logs(&self) -> bool {
        true
    }

    async fn giver<'a>(&self, context: &'a SessionContext) -> Result<Box<dyn Giver + 'a>> {
        let texts = Texts::default();
        Ok(Box::new(TextGiver { context, texts }))
    }

    /// Rows of the hub's Parquet have a path of their own.
    fn hub_path(&self, source: &SourceFile) -> Option<String> {
        let hub = source.collection.is_some();
        hub.then(|| source.path.clone())
    }

    /// With the variants of each.
    async fn samples(&self, context: &SessionContext, predicate: &str) -> Result<HashSet<i64>> {
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
    }

    /// Captured graphs are what their content hashes say.
    async fn recompute(&self, context: &SessionContext) -> Result<Recomputed> {
        let mut recomputed = Recomputed::default();
        for (id, (key, graph)) in captured::graphs(context, "true").await? {
            let same = graph.is_some_and(|graph| graph.content_hash() == key);
            let wrong = (!same).then(|| format!("{id} is not what its content hash says"));
            recomputed.add("graphs", wrong);
        }
        Ok(recomputed)
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

#[async_trait]
impl Giver for TextGiver<'_> {
    async fn begin(&mut self, portion: &Portion<'_>) -> Result<()> {
        self.texts = Texts::load(self.context, portion.sources()).await?;
        Ok(())
    }

    async fn give(&mut self, source: &SourceFile, out: &mut dyn Out) -> Result<Proof> {
        for text in self.texts.of(source) {
            out.write(&text?);
        }
        Ok(Proof::Bytes)
    }
}
