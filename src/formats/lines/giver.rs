//! A log put together again: its segments, its records, its other lines.

use std::collections::HashMap;

use datafusion::prelude::SessionContext;
use futures::future::BoxFuture;
use tsql_formats::Dialect;

use super::others::{OtherLine, Others, load_others};
use super::records::Records;
use super::{Lines, recompute, rows_of};
use crate::error::Result;
use crate::formats::source::SourceFile;
use crate::formats::{Giver, Giving, Order, Out, Portion, Proof, Recomputed};

/// All dialects need here is what [`Dialect`] says of them.
impl Giving for Dialect {
    fn dataset(&self) -> &'static str {
        Self::dataset(*self)
    }

    fn has_logs(&self) -> bool {
        true
    }

    fn needs_platform(&self) -> bool {
        true
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(*self)
    }

    fn order(&self) -> Order {
        Order::Graphs
    }

    fn giver<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn Giver + 'a>>> {
        Box::pin(async move {
            let giver: Box<dyn Giver> = Box::new(LineGiver {
                context,
                lines: Lines::load(context, *self).await?,
                records: Records::new(context, &Portion::default()),
                others: HashMap::new(),
            });
            Ok(giver)
        })
    }

    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<Recomputed>> {
        Box::pin(async move { recompute(context, Self::dataset(*self)).await })
    }
}

/// Gives the logs of a dataset back.
struct LineGiver<'a> {
    context: &'a SessionContext,
    lines: Lines,
    /// Those of the portion.
    records: Records<'a>,
    others: HashMap<i64, Vec<OtherLine>>,
}

impl Giver for LineGiver<'_> {
    fn begin<'a>(&'a mut self, portion: &'a Portion<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.others = load_others(self.context, &portion.ids()).await?;
            self.records = Records::new(self.context, portion);
            Ok(())
        })
    }

    fn give<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn Out,
    ) -> BoxFuture<'a, Result<Proof>> {
        Box::pin(async move {
            let (end, last) = (source.line_count(), source.last_segment());
            let mut others = Others::of(&self.others, source);
            let crlf = source.is_crlf();
            let mut line = Vec::new();
            while let Some(batch) = self.records.of(source.rows_of).await? {
                let mut lines = self.lines.of(&batch)?;
                for row in rows_of(&batch)? {
                    // A copy may end with the beginning of a line that is whole in the file whose rows these are.
                    if row.line > end || source.is_open(row.line, "other", Some(last)) {
                        continue;
                    }
                    others.write_before(row.line, out);
                    line.clear();
                    lines.write(&row, crlf, &mut line)?;
                    if !source.is_open(row.line, "record", None) {
                        line.push(b'\n');
                    }
                    out.write(&line);
                }
            }
            others.write_before(u64::MAX, out);
            Ok(Proof::Bytes)
        })
    }
}
