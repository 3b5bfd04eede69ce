//! Workloads of MetaSchedule, which the lines of its tuning records refer to.

mod columns;
mod group;
mod lines;
mod parsed;
pub(crate) mod stored;
mod taking;

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use tsql_formats::metaschedule::workload::NAME;

use super::lines::others::{OtherLine, Others, load_others};
use super::source::SourceFile;
use super::texts::load_texts;
use super::{Giver, Giving, Out, Portion, Proof, Recomputed};
use crate::error::{Error, Result};

use lines::{Line, lines};
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

    async fn referred(
        &self,
        context: &SessionContext,
        records: &BTreeSet<i64>,
    ) -> Result<BTreeSet<i64>> {
        stored::referred(context, records).await
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
        let modules = rows.iter().filter_map(|line| line.spelled.module());
        let modules = load_texts(self.context, &modules.collect::<Vec<_>>()).await?;
        let mut others = Others::of(&self.others, source);
        for line in rows {
            others.write_before(line.number, out);
            let text = line.spelled.text(&modules, source.is_crlf());
            let mut text = text.ok_or_else(|| broken(line, "its module is missing"))?;
            if !source.is_open(line.number, "record", None) {
                text.push(b'\n');
            }
            out.write(&text);
        }
        others.write_before(u64::MAX, out);
        Ok(Proof::Bytes)
    }
}
