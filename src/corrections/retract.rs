//! Records taken out of all answers, and put back.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use super::ledger::Correction;
use super::options::{Corrected, CorrectionOptions, Kind};
use crate::chosen::{Lines, everything, nothing};
use crate::column;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::schema;
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, RETRACTED, Snapshot, Store};

/// Column of what is kept that names the retraction.
const RETRACTION: &str = "retraction_id";

impl Store {
    /// Takes the records that `predicate` chooses (SQL over `records`; `source` is the name of their file) out of
    /// `records`, and so out of every answer. They are kept in `retracted`; their files can be given back as before, and are
    /// not ingested again.
    ///
    /// # Errors
    /// [`Error::Empty`](crate::Error::Empty) where nothing is chosen, [`Error::Argument`](crate::Error::Argument) where everything is without
    /// [`CorrectionOptions::all`] or no reason is given, [`Error::Refused`](crate::Error::Refused) while another correction is at work,
    /// [`Error::Query`](crate::Error::Query) for a predicate that is no SQL.
    pub async fn retract(&self, predicate: &str, options: &CorrectionOptions) -> Result<Corrected> {
        self.changeable()?;
        let chosen = async |context: &SessionContext| -> Result<Lines> {
            let mut lines = Lines::of(context, "records", predicate).await?;
            // What a run has written and not finished is still its own.
            let ledger = Ledger::load(self).await?;
            lines.before(|source| ledger.first_unknown("records", source));
            Ok(lines)
        };
        let act = async |lines: &Lines, begun: &Correction| {
            for (table, kept) in RETRACTED {
                self.copy_lines((table, kept), lines, begun).await?;
            }
            for (table, _) in RETRACTED {
                self.take_out_lines(table, lines, begun).await?;
            }
            Ok(())
        };
        self.act(Kind::Retract, predicate, options, chosen, act)
            .await
    }

    /// Puts the records that `predicate` chooses among the retracted ones (SQL over `retracted`: `retraction_id = '...'`)
    /// back into `records`.
    ///
    /// # Errors
    /// As [`Store::retract`]; no reason need be given.
    pub async fn restore(&self, predicate: &str, options: &CorrectionOptions) -> Result<Corrected> {
        self.changeable()?;
        let chosen =
            async |context: &SessionContext| Lines::of(context, "retracted", predicate).await;
        let act = async |lines: &Lines, begun: &Correction| {
            for (table, kept) in RETRACTED {
                self.copy_lines((kept, table), lines, begun).await?;
            }
            for (_, kept) in RETRACTED {
                self.take_out_lines(kept, lines, begun).await?;
            }
            Ok(())
        };
        self.act(Kind::Restore, predicate, options, chosen, act)
            .await
    }

    /// Does what was chosen, once it is written down.
    async fn act(
        &self,
        kind: Kind,
        predicate: &str,
        options: &CorrectionOptions,
        chosen: impl AsyncFn(&SessionContext) -> Result<Lines>,
        act: impl AsyncFn(&Lines, &Correction) -> Result<()>,
    ) -> Result<Corrected> {
        options.checked(kind)?;
        let from = if kind == Kind::Restore {
            "retracted"
        } else {
            "records"
        };
        let lines = chosen(&self.session().await?).await?;
        let corrected = |lines: &Lines| Corrected {
            records: lines.count(),
            sources: lines.sources().len() as u64,
            ..Corrected::default()
        };
        let new = Correction::new(kind, predicate, None, &corrected(&lines), options);
        if self.broken_off(&new).await?.is_none() {
            if lines.is_empty() {
                return Err(nothing(from, predicate));
            }
            if !options.all && lines.count() == self.row_count(from).await? {
                return Err(everything(from));
            }
        }
        if options.dry_run {
            return Ok(corrected(&lines));
        }
        let (begun, resumed) = self.begin(new).await?;
        // What it is about is looked at once more, now that no other correction is at work.
        let lines = chosen(&self.session().await?).await?;
        act(&lines, &begun).await?;
        let mut done = corrected(&lines);
        if resumed {
            done = self.done_of(&begun, done).await?;
        }
        done.correction_id = (done.records > 0).then(|| begun.correction_id.clone());
        done.resumed = resumed;
        self.end(begun, &done).await?;
        if done.correction_id.is_none() {
            return Err(nothing(from, predicate));
        }
        Ok(done)
    }

    /// Copies rows of one table into another one, but for those that it has; with the retraction that they are of, where
    /// it keeps that.
    pub(super) async fn copy_lines(
        &self,
        (from, to): (&str, &str),
        lines: &Lines,
        begun: &Correction,
    ) -> Result<()> {
        let Some(source) = self.snapshot(from).await? else {
            return Ok(());
        };
        let keeps = schema::table(to)?.column(RETRACTION).is_some();
        let id = keeps.then_some(begun.correction_id.as_str());
        let mut written: Option<(Lines, Vec<DataFile>)> = None;
        let detail = format!("{} {}", begun.kind.name(), begun.correction_id);
        self.commit(to, &detail, async |snapshot: &Snapshot| {
            let known = self.known_lines(to, snapshot, lines).await?;
            let mut new = lines.clone();
            new.without(&known);
            if written.as_ref().is_none_or(|(lines, _)| *lines != new) {
                let files = self.copied((from, to), &source, &new, id).await?;
                written = Some((new, files));
            }
            let add = written.iter().flat_map(|(_, files)| files.clone());
            let change = Change {
                add: add.collect(),
                ..Change::default()
            };
            Ok((!change.add.is_empty()).then_some(change))
        })
        .await
    }

    /// Writes lines of one table as files of another one.
    async fn copied(
        &self,
        (from, to): (&str, &str),
        snapshot: &Snapshot,
        lines: &Lines,
        id: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        let (to, filter) = (schema::table(to)?, lines.filter());
        let column = |rows| Arc::new(StringArray::from(vec![id; rows])) as ArrayRef;
        let mut files = Vec::new();
        for file in snapshot.files().iter() {
            let rows = self.rows_of(from, snapshot, file, Some(filter.clone()));
            let rows = rows.await?;
            let rows = rows.iter().filter(|rows| rows.num_rows() > 0);
            let batches = rows.map(|rows: &RecordBatch| {
                let schema = rows.schema();
                let names = schema.fields().iter().map(|field| field.name().as_str());
                let columns = names.zip(rows.columns().iter().cloned());
                let columns = columns.filter(|(name, _)| to.column(name).is_some());
                let own = id.map(|_| (RETRACTION, column(rows.num_rows())));
                file::batch(to, columns.chain(own).collect())
            });
            let batches = batches.collect::<Result<Vec<_>>>()?;
            if batches.is_empty() {
                continue;
            }
            let written = file::write(
                self.location(),
                to,
                &file.partition,
                &batches,
                Effort::Ingest,
            );
            files.push(written.await?);
        }
        Ok(files)
    }

    /// Those of some lines that a version of a table has.
    async fn known_lines(&self, table: &str, at: &Snapshot, lines: &Lines) -> Result<Lines> {
        let mut known = Lines::default();
        if at.files().is_empty() || lines.is_empty() {
            return Ok(known);
        }
        let filter = Some(lines.filter());
        let rows = self.read(table, at, &["source_id", "line"], filter);
        for batch in rows.await? {
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let numbers = column::numbers::<Int64Type>(&batch, "line")?;
            known.add(sources.values(), numbers.values());
        }
        known.sort();
        Ok(known)
    }

    pub(super) async fn take_out_lines(
        &self,
        table: &str,
        lines: &Lines,
        begun: &Correction,
    ) -> Result<u64> {
        let filter = lines.filter();
        let detail = format!("{} {}", begun.kind.name(), begun.correction_id);
        self.take_out(table, &detail, async |_| Ok(Some(filter.clone())))
            .await
    }

    /// What a correction that was broken off has done, with what was left to do.
    pub(super) async fn done_of(&self, begun: &Correction, left: Corrected) -> Result<Corrected> {
        let mut done = Corrected {
            records: begun.record_count.unwrap_or(0).max(left.records),
            sources: begun.source_count.unwrap_or(0).max(left.sources),
            ..left
        };
        if begun.kind == Kind::Retract {
            let own = format!("retraction_id = '{}'", begun.correction_id);
            let kept = Lines::of(&self.session().await?, "retracted", &own).await?;
            done.records = kept.count();
            done.sources = kept.sources().len() as u64;
        }
        Ok(done)
    }
}
