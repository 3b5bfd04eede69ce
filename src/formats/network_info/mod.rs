//! TenSet's `network_info`: which tasks networks consist of, and what these compute.

mod columns;
mod group;
mod parsed;
mod taking;

use std::collections::HashMap;

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_formats::tenset::networks::NAME;

use super::source::SourceFile;
use super::texts::load_texts;
use super::{Giver, Giving, Out, Portion, Proof, Recomputed};
use crate::error::{Error, Result};

pub(super) use taking::Files;

/// Its room. Files are given back from their bytes, which are kept: a pickle says the same in many ways.
pub(super) struct Room;

impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn giver<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn Giver + 'a>>> {
        let texts = HashMap::new();
        let giver: Box<dyn Giver> = Box::new(FileGiver { context, texts });
        Box::pin(ready(Ok(giver)))
    }

    fn recompute<'a>(&'a self, _: &'a SessionContext) -> BoxFuture<'a, Result<Recomputed>> {
        Box::pin(ready(Ok(Recomputed::default())))
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

impl Giver for FileGiver<'_> {
    fn begin<'a>(&'a mut self, portion: &'a Portion<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let ids: Vec<i64> = portion.sources().flat_map(text_ids).collect();
            self.texts = load_texts(self.context, &ids).await?;
            Ok(())
        })
    }

    fn give<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn Out,
    ) -> BoxFuture<'a, Result<Proof>> {
        Box::pin(async move {
            for id in text_ids(source) {
                let missing =
                    || Error::damaged("texts", format!("{}: its text is missing", source.name));
                out.write(self.texts.get(&id).ok_or_else(missing)?);
            }
            Ok(Proof::Bytes)
        })
    }
}
