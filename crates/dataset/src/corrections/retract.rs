//! Retraction of records from all results, and their restoration.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_adapters::ingest_log::IngestLog;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::file::{DataFile, Effort};
use tsql_store::{Change, RETRACTED, Snapshot, Store, file};

use super::correction_log::Correction;
use super::options::{CorrectionKind, CorrectionOptions, CorrectionReport};
use crate::corrections::correction_log::{begin_correction, find_unfinished, finish_correction};
use crate::line_selection::{LineSelection, everything_selected, nothing_selected};

/// Column of retracted rows with the id of the retraction.
const RETRACTION: &str = "retraction_id";

/// Moves the records that `predicate` selects (SQL over `records`; `source` is the name of their file) from
/// `records` to `retracted`, so no result includes them. Their files can still be exported, and are not ingested
/// again.
///
/// # Errors
/// [`Error::Empty`](tsql_error::Error::Empty) if nothing is selected. [`Error::Argument`](tsql_error::Error::Argument) if
/// everything is selected without [`CorrectionOptions::all`], or no reason is given.
/// [`Error::Refused`](tsql_error::Error::Refused) while another correction is running.
/// [`Error::Query`](tsql_error::Error::Query) for invalid SQL.
pub async fn retract(
    store: &Store,
    predicate: &str,
    options: &CorrectionOptions,
) -> Result<CorrectionReport> {
    store.check_writable()?;
    let chosen = async |context: &SessionContext| -> Result<LineSelection> {
        let mut lines = LineSelection::select(context, "records", predicate).await?;
        // Rows of an unfinished run still belong to that run.
        let ledger = IngestLog::load(store).await?;
        lines.retain_before(|source| ledger.first_unknown("records", source));
        Ok(lines)
    };
    let act = async |lines: &LineSelection, begun: &Correction| {
        for (table, kept) in RETRACTED {
            copy_lines(store, (table, kept), lines, begun).await?;
        }
        for (table, _) in RETRACTED {
            delete_lines(store, table, lines, begun).await?;
        }
        Ok(())
    };
    run_correction(
        store,
        CorrectionKind::Retract,
        predicate,
        options,
        chosen,
        act,
    )
    .await
}

/// Moves the retracted records that `predicate` selects (SQL over `retracted`: `retraction_id = '...'`) back to
/// `records`.
///
/// # Errors
/// As [`retract`](crate::corrections::retract), except that no reason is required.
pub async fn restore(
    store: &Store,
    predicate: &str,
    options: &CorrectionOptions,
) -> Result<CorrectionReport> {
    store.check_writable()?;
    let chosen = async |context: &SessionContext| {
        LineSelection::select(context, "retracted", predicate).await
    };
    let act = async |lines: &LineSelection, begun: &Correction| {
        for (table, kept) in RETRACTED {
            copy_lines(store, (kept, table), lines, begun).await?;
        }
        for (_, kept) in RETRACTED {
            delete_lines(store, kept, lines, begun).await?;
        }
        Ok(())
    };
    run_correction(
        store,
        CorrectionKind::Restore,
        predicate,
        options,
        chosen,
        act,
    )
    .await
}

/// Records a correction, then runs it on the selected lines.
async fn run_correction(
    store: &Store,
    kind: CorrectionKind,
    predicate: &str,
    options: &CorrectionOptions,
    chosen: impl AsyncFn(&SessionContext) -> Result<LineSelection>,
    act: impl AsyncFn(&LineSelection, &Correction) -> Result<()>,
) -> Result<CorrectionReport> {
    options.validate(kind)?;
    let from = if kind == CorrectionKind::Restore {
        "retracted"
    } else {
        "records"
    };
    let lines = chosen(&open_session(store).await?).await?;
    let corrected = |lines: &LineSelection| CorrectionReport {
        records: lines.count(),
        sources: lines.sources().len() as u64,
        ..CorrectionReport::default()
    };
    let new = Correction::new(kind, predicate, None, &corrected(&lines), options);
    if find_unfinished(store, &new).await?.is_none() {
        if lines.is_empty() {
            return Err(nothing_selected(from, predicate));
        }
        if !options.all && lines.count() == store.row_count(from).await? {
            return Err(everything_selected(from));
        }
    }
    if options.dry_run {
        return Ok(corrected(&lines));
    }
    let (begun, resumed) = begin_correction(store, new).await?;
    // The selection is evaluated again, now that no other correction is running.
    let lines = chosen(&open_session(store).await?).await?;
    act(&lines, &begun).await?;
    let mut done = corrected(&lines);
    if resumed {
        done = resumed_report(store, &begun, done).await?;
    }
    done.correction_id = (done.records > 0).then(|| begun.correction_id.clone());
    done.resumed = resumed;
    finish_correction(store, begun, &done).await?;
    if done.correction_id.is_none() {
        return Err(nothing_selected(from, predicate));
    }
    Ok(done)
}

/// Copies rows from one table to another, except those that it has already. Adds the id of the retraction if the
/// target has a column for it.
pub(super) async fn copy_lines(
    store: &Store,
    (from, to): (&str, &str),
    lines: &LineSelection,
    begun: &Correction,
) -> Result<()> {
    let Some(source) = store.snapshot(from).await? else {
        return Ok(());
    };
    let keeps = schema::table(to)?.column(RETRACTION).is_some();
    let id = keeps.then_some(begun.correction_id.as_str());
    let mut written: Option<(LineSelection, Vec<DataFile>)> = None;
    let detail = format!("{} {}", begun.kind.name(), begun.correction_id);
    store
        .commit(to, &detail, async |snapshot: &Snapshot| {
            let known = existing_lines(store, to, snapshot, lines).await?;
            let mut new = lines.clone();
            new.subtract(&known);
            if written.as_ref().is_none_or(|(lines, _)| *lines != new) {
                let files = write_copied_lines(store, (from, to), &source, &new, id).await?;
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

/// Writes lines of one table to new files of another one.
async fn write_copied_lines(
    store: &Store,
    (from, to): (&str, &str),
    snapshot: &Snapshot,
    lines: &LineSelection,
    id: Option<&str>,
) -> Result<Vec<DataFile>> {
    let (to, filter) = (schema::table(to)?, lines.to_filter());
    let column = |rows| Arc::new(StringArray::from(vec![id; rows])) as ArrayRef;
    let mut files = Vec::new();
    for file in snapshot.files().iter() {
        let rows = store.read_file_rows(from, snapshot, file, Some(filter.clone()));
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
            store.location(),
            to,
            &file.partition,
            &batches,
            Effort::Ingest,
        );
        files.push(written.await?);
    }
    Ok(files)
}

/// Returns those lines that a version of a table contains.
async fn existing_lines(
    store: &Store,
    table: &str,
    at: &Snapshot,
    lines: &LineSelection,
) -> Result<LineSelection> {
    let mut known = LineSelection::default();
    if at.files().is_empty() || lines.is_empty() {
        return Ok(known);
    }
    let filter = Some(lines.to_filter());
    let rows = store.read(table, at, &["source_id", "line"], filter);
    for batch in rows.await? {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let numbers = column::numbers::<Int64Type>(&batch, "line")?;
        known.add(sources.values(), numbers.values());
    }
    known.sort();
    Ok(known)
}

pub(super) async fn delete_lines(
    store: &Store,
    table: &str,
    lines: &LineSelection,
    begun: &Correction,
) -> Result<u64> {
    let filter = lines.to_filter();
    let detail = format!("{} {}", begun.kind.name(), begun.correction_id);
    store
        .delete_rows(table, &detail, async |_| Ok(Some(filter.clone())))
        .await
}

/// Returns the total result of a resumed correction: what was done before, and what was left.
pub(super) async fn resumed_report(
    store: &Store,
    begun: &Correction,
    left: CorrectionReport,
) -> Result<CorrectionReport> {
    let mut done = CorrectionReport {
        records: begun.record_count.unwrap_or(0).max(left.records),
        sources: begun.source_count.unwrap_or(0).max(left.sources),
        ..left
    };
    if begun.kind == CorrectionKind::Retract {
        let own = format!("retraction_id = '{}'", begun.correction_id);
        let kept = LineSelection::select(&open_session(store).await?, "retracted", &own).await?;
        done.records = kept.count();
        done.sources = kept.sources().len() as u64;
    }
    Ok(done)
}
