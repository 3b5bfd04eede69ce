//! Restores comments and rejected lines.

use std::collections::HashMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

use crate::formats::FileOutput;
use crate::formats::source::SourceFile;

/// A comment, a rejected line, or a part of one.
pub(in crate::formats) struct OtherLine {
    segment: i32,
    line: u64,
    text: Vec<u8>,
}

/// Writes the other lines of a file, in order.
pub(in crate::formats) struct OtherLineWriter<'a> {
    source: &'a SourceFile,
    left: Peekable<IntoIter<&'a OtherLine>>,
}

impl<'a> OtherLineWriter<'a> {
    /// Selects the other lines of a file from those of an export batch.
    pub(in crate::formats) fn for_source(
        all: &'a HashMap<i64, Vec<OtherLine>>,
        source: &'a SourceFile,
    ) -> Self {
        let (end, last) = (source.line_count(), source.last_segment());
        let kept = |other: &&OtherLine| {
            other.segment <= last
                && other.line <= end
                && !source.is_replaced(other.segment, other.line)
        };
        let others = all.get(&source.rows_of).into_iter().flatten();
        let left: Vec<&OtherLine> = others.filter(kept).collect();
        Self {
            source,
            left: left.into_iter().peekable(),
        }
    }

    /// Writes the remaining lines before `line`.
    pub(in crate::formats) fn write_before(&mut self, line: u64, out: &mut dyn FileOutput) {
        while let Some(other) = self.left.next_if(|other| other.line < line) {
            let next = self.left.peek();
            let has_more = next.is_some_and(|next| next.line == other.line);
            let is_open = self
                .source
                .is_open(other.line, "other", Some(other.segment));
            out.write(&other.text);
            if !has_more && !is_open {
                out.write(b"\n");
            }
        }
    }
}

/// Loads the other lines of some sources, in order.
pub(in crate::formats) async fn load_others(
    context: &SessionContext,
    sources: &[String],
) -> Result<HashMap<i64, Vec<OtherLine>>> {
    if sources.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "SELECT source_id, segment, line, text FROM stored.lines WHERE source_id IN ({}) \
         ORDER BY source_id, line, segment, part",
        sources.join(", ")
    );
    let mut others: HashMap<i64, Vec<OtherLine>> = HashMap::new();
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let lines = column::numbers::<Int64Type>(&batch, "line")?;
        let segments = column::numbers::<Int32Type>(&batch, "segment")?;
        let texts = column::bytes(&batch, "text")?;
        for row in 0..batch.num_rows() {
            others.entry(ids.value(row)).or_default().push(OtherLine {
                segment: segments.value(row),
                line: lines.value(row).unsigned_abs(),
                text: texts.value(row).to_vec(),
            });
        }
    }
    Ok(others)
}
