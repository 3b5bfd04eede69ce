//! A log put together again: its segments, its records, its other lines.

use std::collections::HashMap;

use arrow::datatypes::{Int32Type, Int64Type};
use async_trait::async_trait;
use datafusion::prelude::SessionContext;

use super::records::Records;
use super::{Lines, recompute, rows};
use crate::column;
use crate::error::Result;
use crate::formats::source::SourceFile;
use crate::formats::spelling::MakeSpeller;
use crate::formats::{Giver, Giving, Order, Out, Portion, Proof, Recomputed};
use crate::query::collect;

/// The room of a dataset whose files are logs.
pub(crate) struct LineRoom {
    pub(crate) dataset: &'static str,
    pub(crate) make_speller: MakeSpeller,
}

#[async_trait]
impl Giving for LineRoom {
    fn dataset(&self) -> &'static str {
        self.dataset
    }

    fn has_logs(&self) -> bool {
        true
    }

    fn needs_platform(&self) -> bool {
        true
    }

    fn speller(&self) -> Option<MakeSpeller> {
        Some(self.make_speller)
    }

    fn order(&self) -> Order {
        Order::Graphs
    }

    async fn giver<'a>(&self, context: &'a SessionContext) -> Result<Box<dyn Giver + 'a>> {
        Ok(Box::new(LineGiver {
            context,
            lines: Lines::load(context, self.dataset, self.make_speller).await?,
            records: Records::new(context, &Portion::default()),
            others: HashMap::new(),
        }))
    }

    async fn recompute(&self, context: &SessionContext) -> Result<Recomputed> {
        recompute(context, self.dataset).await
    }
}

/// Gives the logs of a dataset back.
struct LineGiver<'a> {
    context: &'a SessionContext,
    lines: Lines,
    /// Those of the portion.
    records: Records<'a>,
    others: HashMap<i64, Vec<Other>>,
}

/// A line that is no record, or a part of one.
struct Other {
    segment: i32,
    line: u64,
    text: Vec<u8>,
}

#[async_trait]
impl Giver for LineGiver<'_> {
    async fn begin(&mut self, portion: &Portion<'_>) -> Result<()> {
        self.others = others(self.context, &portion.ids()).await?;
        self.records = Records::new(self.context, portion);
        Ok(())
    }

    async fn give(&mut self, source: &SourceFile, out: &mut dyn Out) -> Result<Proof> {
        let (end, last) = (source.line_count(), source.last_segment());
        let kept = |other: &&Other| {
            other.segment <= last
                && other.line <= end
                && !source.replaced(other.segment, other.line)
        };
        let others = self.others.get(&source.rows_of);
        let others = others.map_or(&[][..], Vec::as_slice).iter();
        let mut others = others.filter(kept).peekable();
        let crlf = source.is_crlf();
        let mut line = Vec::new();
        while let Some(batch) = self.records.of(source.rows_of).await? {
            let mut lines = self.lines.of(&batch)?;
            for row in rows(&batch)? {
                // A copy may end with the beginning of a line that is whole in the file whose rows these are.
                if row.line > end || source.is_open(row.line, "other", Some(last)) {
                    continue;
                }
                while let Some(other) = others.next_if(|other| other.line < row.line) {
                    let more = others.peek().is_some_and(|next| next.line == other.line);
                    write_other(source, other, more, out);
                }
                line.clear();
                lines.write(&row, crlf, &mut line)?;
                if !source.is_open(row.line, "record", None) {
                    line.push(b'\n');
                }
                out.write(&line);
            }
        }
        while let Some(other) = others.next() {
            let more = others.peek().is_some_and(|next| next.line == other.line);
            write_other(source, other, more, out);
        }
        Ok(Proof::Bytes)
    }
}

fn write_other(source: &SourceFile, other: &Other, more: bool, out: &mut dyn Out) {
    out.write(&other.text);
    if !more && !source.is_open(other.line, "other", Some(other.segment)) {
        out.write(b"\n");
    }
}

/// The other lines of some sources, in order.
async fn others(context: &SessionContext, sources: &[String]) -> Result<HashMap<i64, Vec<Other>>> {
    if sources.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "SELECT source_id, segment, line, text FROM stored.lines WHERE source_id IN ({}) \
         ORDER BY source_id, line, segment, part",
        sources.join(", ")
    );
    let mut others: HashMap<i64, Vec<Other>> = HashMap::new();
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let lines = column::numbers::<Int64Type>(&batch, "line")?;
        let segments = column::numbers::<Int32Type>(&batch, "segment")?;
        let texts = column::bytes(&batch, "text")?;
        for row in 0..batch.num_rows() {
            others.entry(ids.value(row)).or_default().push(Other {
                segment: segments.value(row),
                line: lines.value(row).unsigned_abs(),
                text: texts.value(row).to_vec(),
            });
        }
    }
    Ok(others)
}
