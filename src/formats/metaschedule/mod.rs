//! Workloads of MetaSchedule, which the lines of its tuning records refer to.

mod columns;
mod group;
mod parsed;
mod taking;

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use tsql_formats::metaschedule::workload::{self, NAME};

use super::lines::others::{OtherLine, Others, load_others};
use super::source::SourceFile;
use super::texts::load_texts;
use super::{Giver, Giving, Out, Portion, Proof, Recomputed};
use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;

pub(super) use taking::Workloads;

/// The room of workloads.
pub(super) struct Room;

#[async_trait]
impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    async fn giver<'a>(&self, context: &'a SessionContext) -> Result<Box<dyn Giver + 'a>> {
        Ok(Box::new(WorkloadGiver {
            context,
            rows: HashMap::new(),
            others: HashMap::new(),
        }))
    }

    async fn recompute(&self, _: &SessionContext) -> Result<Recomputed> {
        Ok(Recomputed::default())
    }
}

/// Gives files of workloads back.
struct WorkloadGiver<'a> {
    context: &'a SessionContext,
    /// Those of the portion.
    rows: HashMap<i64, Vec<Line>>,
    others: HashMap<i64, Vec<OtherLine>>,
}

/// A line with a workload.
struct Line {
    number: u64,
    spelled: Spelled,
}

/// What a line is spelled from.
enum Spelled {
    /// Its text.
    Verbatim(Vec<u8>),
    /// The structural hash, and the text with the module.
    Parts(u64, i64),
}

#[async_trait]
impl Giver for WorkloadGiver<'_> {
    async fn begin(&mut self, portion: &Portion<'_>) -> Result<()> {
        self.rows = lines(self.context, &portion.ids()).await?;
        self.others = load_others(self.context, &portion.ids()).await?;
        Ok(())
    }

    async fn give(&mut self, source: &SourceFile, out: &mut dyn Out) -> Result<Proof> {
        let broken = |line: &Line, what: &str| {
            let reason = format!("line {} of {}: {what}", line.number, source.name);
            Error::damaged("workloads", reason)
        };
        let rows = self
            .rows
            .get(&source.rows_of)
            .map_or(&[][..], Vec::as_slice);
        let modules = rows.iter().filter_map(|line| match line.spelled {
            Spelled::Parts(_, module) => Some(module),
            Spelled::Verbatim(_) => None,
        });
        let modules = load_texts(self.context, &modules.collect::<Vec<_>>()).await?;
        let mut others = Others::of(&self.others, source);
        for line in rows {
            others.write_before(line.number, out);
            let mut text = Vec::new();
            match &line.spelled {
                Spelled::Verbatim(verbatim) => text.extend_from_slice(verbatim),
                Spelled::Parts(hash, module) => {
                    let module = modules.get(module);
                    let module = module.ok_or_else(|| broken(line, "its module is missing"))?;
                    workload::write(*hash, module, &mut text);
                    if source.is_crlf() {
                        text.push(b'\r');
                    }
                }
            }
            if !source.is_open(line.number, "record", None) {
                text.push(b'\n');
            }
            out.write(&text);
        }
        others.write_before(u64::MAX, out);
        Ok(Proof::Bytes)
    }
}

/// The workloads of some sources, in the order of their lines.
async fn lines(context: &SessionContext, sources: &[String]) -> Result<HashMap<i64, Vec<Line>>> {
    let mut found: HashMap<i64, Vec<Line>> = HashMap::new();
    if sources.is_empty() {
        return Ok(found);
    }
    let sql = format!(
        "SELECT source_id, line, structural_hash, text_id, verbatim FROM stored.workloads \
         WHERE source_id IN ({}) ORDER BY source_id, line",
        sources.join(", ")
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
                Some(text) => Spelled::Verbatim(text.to_vec()),
                None => {
                    let wrong = |_| {
                        let reason = format!("line {number}: its hash is no number");
                        Error::damaged("workloads", reason)
                    };
                    let hash = hashes.value(row).parse().map_err(wrong)?;
                    Spelled::Parts(hash, texts.value(row))
                }
            };
            let lines = found.entry(ids.value(row)).or_default();
            lines.push(Line { number, spelled });
        }
    }
    Ok(found)
}
