//! Workloads of MetaSchedule, which the lines of its tuning records refer to.

mod columns;
mod group;
mod lines;
mod parsed;
pub(crate) mod stored;
mod taking;

use std::collections::{BTreeSet, HashMap};

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
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

impl Giving for Room {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn giver<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn Giver + 'a>>> {
        let giver: Box<dyn Giver> = Box::new(WorkloadGiver {
            context,
            rows: HashMap::new(),
            others: HashMap::new(),
        });
        Box::pin(ready(Ok(giver)))
    }

    fn referred<'a>(
        &'a self,
        context: &'a SessionContext,
        records: &'a BTreeSet<i64>,
    ) -> BoxFuture<'a, Result<BTreeSet<i64>>> {
        Box::pin(async move { stored::referred(context, records).await })
    }

    fn recompute<'a>(&'a self, _: &'a SessionContext) -> BoxFuture<'a, Result<Recomputed>> {
        Box::pin(ready(Ok(Recomputed::default())))
    }
}

/// Gives files of workloads back.
struct WorkloadGiver<'a> {
    context: &'a SessionContext,
    /// Those of the portion.
    rows: HashMap<i64, Vec<Line>>,
    others: HashMap<i64, Vec<OtherLine>>,
}

impl Giver for WorkloadGiver<'_> {
    fn begin<'a>(&'a mut self, portion: &'a Portion<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.rows = lines(self.context, &portion.ids()).await?;
            self.others = load_others(self.context, &portion.ids()).await?;
            Ok(())
        })
    }

    fn give<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn Out,
    ) -> BoxFuture<'a, Result<Proof>> {
        Box::pin(async move {
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
        })
    }
}
