//! A log put together again: its segments, its records, its other lines.

use std::collections::HashMap;

use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use tsql_formats::Dialect;

use super::others::{OtherLine, Others, load_others};
use super::records::Records;
use super::{Lines, recompute, rows_of};
use crate::error::Result;
use crate::formats::source::SourceFile;
use crate::formats::{Giver, Giving, Order, Out, Portion, Proof, Recomputed};

/// All dialects need here is what [`Dialect`] says of them.
#[async_trait]
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

    async fn giver<'a>(&self, context: &'a SessionContext) -> Result<Box<dyn Giver + 'a>> {
        Ok(Box::new(LineGiver {
            context,
            lines: Lines::load(context, *self).await?,
            records: Records::new(context, &Portion::default()),
            others: HashMap::new(),
        }))
    }

    async fn recompute(&self, context: &SessionContext) -> Result<Recomputed> {
        recompute(context, Self::dataset(*self)).await
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

#[async_trait]
impl Giver for LineGiver<'_> {
    async fn begin(&mut self, portion: &Portion<'_>) -> Result<()> {
        self.others = load_others(self.context, &portion.ids()).await?;
        self.records = Records::new(self.context, portion);
        Ok(())
    }

    async fn give(&mut self, source: &SourceFile, out: &mut dyn Out) -> Result<Proof> {
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
    }
}
