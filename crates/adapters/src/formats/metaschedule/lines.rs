//! Loads the lines of workload files.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_formats::metaschedule::workload;
use tsql_schema::column;

/// A line with a workload.
pub(super) struct Line {
    /// Line number, from 1.
    pub(super) number: u64,
    pub(super) spelled: LineText,
}

/// Text of a line, or the parts to restore it from.
pub(super) enum LineText {
    /// Its text.
    Verbatim(Vec<u8>),
    /// Structural hash, and identifier of the module text.
    Parts(u64, i64),
}

impl LineText {
    /// Returns the line without its line feed. Returns `None` if its module is missing.
    pub(super) fn text(&self, modules: &HashMap<i64, Vec<u8>>, crlf: bool) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        match self {
            Self::Verbatim(verbatim) => text.extend_from_slice(verbatim),
            Self::Parts(hash, module) => {
                workload::write(*hash, modules.get(module)?, &mut text);
                if crlf {
                    text.push(b'\r');
                }
            }
        }
        Some(text)
    }

    /// Returns the module of the line, unless the line is stored verbatim.
    pub(super) fn module(&self) -> Option<i64> {
        match self {
            Self::Parts(_, module) => Some(*module),
            Self::Verbatim(_) => None,
        }
    }
}

/// Loads the workloads of some sources, in line order.
pub(super) async fn lines_of_sources(
    context: &SessionContext,
    sources: &[String],
) -> Result<HashMap<i64, Vec<Line>>> {
    if sources.is_empty() {
        return Ok(HashMap::new());
    }
    lines_where(context, &format!("source_id IN ({})", sources.join(", "))).await
}

/// Loads the workloads that a predicate over the stored columns selects, by source, in line order.
pub(super) async fn lines_where(
    context: &SessionContext,
    predicate: &str,
) -> Result<HashMap<i64, Vec<Line>>> {
    let mut found: HashMap<i64, Vec<Line>> = HashMap::new();
    let sql = format!(
        "SELECT source_id, line, structural_hash, text_id, verbatim FROM stored.workloads \
         WHERE {predicate} ORDER BY source_id, line"
    );
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let numbers = column::numbers::<Int64Type>(&batch, "line")?;
        let hashes = column::text(&batch, "structural_hash")?;
        let texts = column::numbers::<Int64Type>(&batch, "text_id")?;
        let verbatim = column::bytes(&batch, "verbatim")?;
        for row in 0..batch.num_rows() {
            let number = numbers.value(row).unsigned_abs();
            let spelled = match column::bytes_at(verbatim, row) {
                Some(text) => LineText::Verbatim(text.to_vec()),
                None => {
                    let wrong = |_| {
                        let reason = format!("line {number}: its hash is not a number");
                        Error::damaged("workloads", reason)
                    };
                    let hash = hashes.value(row).parse().map_err(wrong)?;
                    LineText::Parts(hash, texts.value(row))
                }
            };
            let lines = found.entry(ids.value(row)).or_default();
            lines.push(Line { number, spelled });
        }
    }
    Ok(found)
}
