//! TenSet's `network_info`: which tasks networks consist of, and what these compute.

mod columns;
mod group;
mod parsed;
mod taking;

use std::collections::HashMap;

use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use tsql_formats::tenset::networks::NAME;

use super::source::SourceFile;
use super::texts::load_texts;
use super::{Giver, Giving, Out, Portion, Proof, Recomputed};
use crate::error::{Error, Result};

pub(super) use taking::Files;

/// Its room. Files are given back from their bytes, which are kept: a pickle says the same in many ways.
pub(super) struct Room;

#[async_trait]
impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    async fn giver<'a>(&self, context: &'a SessionContext) -> Result<Box<dyn Giver + 'a>> {
        let texts = HashMap::new();
        Ok(Box::new(FileGiver { context, texts }))
    }

    async fn recompute(&self, _: &SessionContext) -> Result<Recomputed> {
        Ok(Recomputed::default())
    }
}

struct FileGiver<'a> {
    context: &'a SessionContext,
    /// Those of the portion.
    texts: HashMap<i64, Vec<u8>>,
}

/// What a file's segments are made of.
fn text_ids(source: &SourceFile) -> impl Iterator<Item = i64> {
    source.segments.iter().filter_map(|segment| segment.text_id)
}

#[async_trait]
impl Giver for FileGiver<'_> {
    async fn begin(&mut self, portion: &Portion<'_>) -> Result<()> {
        let ids: Vec<i64> = portion.sources().flat_map(text_ids).collect();
        self.texts = load_texts(self.context, &ids).await?;
        Ok(())
    }

    async fn give(&mut self, source: &SourceFile, out: &mut dyn Out) -> Result<Proof> {
        for id in text_ids(source) {
            let missing =
                || Error::damaged("texts", format!("{}: its text is missing", source.name));
            out.write(self.texts.get(&id).ok_or_else(missing)?);
        }
        Ok(Proof::Bytes)
    }
}
