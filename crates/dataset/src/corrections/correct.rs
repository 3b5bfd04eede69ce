//! Correction of labels that people gave: for whole sources, in all their rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::Expr;
use datafusion::prelude::{SessionContext, lit};
use tsql_adapters::formats::NO_PLATFORM;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::{Partition, Snapshot, Store};

use super::correction_log::Correction;
use super::duplicate_sources;
use super::label::Label;
use super::options::{CorrectionKind, CorrectionOptions, CorrectionReport};
use crate::corrections::correction_log::{begin_correction, find_unfinished, finish_correction};
use crate::ingest::commits::claim_app_id;
use crate::line_selection::{everything_selected, in_sources, nothing_selected};

/// Sources of a correction.
struct Sources {
    ids: BTreeSet<i64>,
    other_names: u64,
    records: u64,
    are_all: bool,
}

/// Sets labels of the sources that `predicate` selects (SQL over `sources`; `source` is the name), with all their
/// records and aliases. Measured values are never changed.
///
/// # Errors
/// [`Error::Empty`] if nothing is selected. [`Error::Argument`] if everything is selected without
/// [`CorrectionOptions::all`], no reason is given, a label cannot be set for these sources, or the store has the
/// same file with the new label, so that its records would count twice. [`Error::Refused`] while another correction
/// is running, [`Error::Query`] for invalid SQL.
pub async fn correct(
    store: &Store,
    labels: &[Label],
    predicate: &str,
    options: &CorrectionOptions,
) -> Result<CorrectionReport> {
    store.check_writable()?;
    options.validate(CorrectionKind::Correct)?;
    let names: BTreeSet<&str> = labels
        .iter()
        .map(|label| label.column_and_value().0)
        .collect();
    if labels.is_empty() || names.len() < labels.len() {
        return Err(Error::Argument {
            name: "label",
            reason: "expected one or more different labels\nhint: --label platform=k80".to_owned(),
        });
    }
    let chosen = chosen_sources(store, labels, predicate).await?;
    let changes: Vec<String> = labels.iter().map(Label::to_string).collect();
    let changes = Some(changes.join("\n"));
    let mut done = chosen.to_report();
    let new = Correction::new(CorrectionKind::Correct, predicate, changes, &done, options);
    if find_unfinished(store, &new).await?.is_none() {
        if chosen.ids.is_empty() {
            return Err(nothing_selected("sources", predicate));
        }
        if !options.all && chosen.are_all {
            return Err(everything_selected("sources"));
        }
        duplicate_sources::reject_duplicates(&open_session(store).await?, &chosen.ids, labels)
            .await?;
    }
    if options.dry_run {
        return Ok(done);
    }
    let (begun, resumed) = begin_correction(store, new).await?;
    let chosen = chosen_sources(store, labels, predicate).await?;
    if !chosen.ids.is_empty() {
        relabel(store, &chosen.ids, labels, &begun).await?;
    }
    done = chosen.to_report();
    if resumed {
        done.records = done.records.max(begun.record_count.unwrap_or(0));
        done.sources = done.sources.max(begun.source_count.unwrap_or(0));
    }
    done.correction_id = (done.sources > 0).then(|| begun.correction_id.clone());
    done.resumed = resumed;
    finish_correction(store, begun, &done).await?;
    if done.correction_id.is_none() {
        return Err(nothing_selected("sources", predicate));
    }
    Ok(done)
}

/// Changes the labels of these sources: first in their rows, last in the ingest log, whose commit claims them. A
/// run that is about to write more rows of one of them starts again, and uses the new labels.
async fn relabel(
    store: &Store,
    ids: &BTreeSet<i64>,
    labels: &[Label],
    begun: &Correction,
) -> Result<()> {
    let detail = format!("correct {}", begun.correction_id);
    let is_wrong = labels.iter().map(Label::differs_filter).reduce(Expr::or);
    let wrong = in_sources(ids.iter().copied()).and(is_wrong.unwrap_or_else(|| lit(false)));
    let tables = ["records", "retracted"];
    loop {
        for table in tables {
            let filter = wrong.clone();
            let change = |partition: &mut Partition, rows: &RecordBatch| {
                for (name, value) in partition {
                    let label = labels
                        .iter()
                        .map(Label::column_and_value)
                        .find(|(own, _)| own == name);
                    if let Some((_, right)) = label {
                        *value = right.map(str::to_owned);
                    }
                }
                relabel_rows(rows, labels)
            };
            let wanted = async |_: &Snapshot| Ok(Some(filter.clone()));
            store
                .update_rows(table, &detail, wanted, change, |_| Vec::new())
                .await?;
        }
        let is_late = async || -> Result<bool> {
            for table in tables {
                let Some(snapshot) = store.snapshot(table).await? else {
                    continue;
                };
                let rows = store.read(table, &snapshot, &["source_id"], Some(wrong.clone()));
                if rows.await?.iter().any(|rows| rows.num_rows() > 0) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let mut late = false;
        let wanted = async |_: &Snapshot| {
            // Another run may have added rows since.
            late = is_late().await?;
            Ok((!late).then(|| wrong.clone()))
        };
        let claims = |version: u64| {
            let claims = ids
                .iter()
                .map(|id| (claim_app_id(*id), version.cast_signed()));
            claims.collect()
        };
        let change = |_: &mut Partition, rows: &RecordBatch| relabel_rows(rows, labels);
        store
            .update_rows("sources", &detail, wanted, change, claims)
            .await?;
        if !late {
            return Ok(());
        }
    }
}

/// Returns the sources that a predicate selects, with their aliases.
async fn chosen_sources(store: &Store, labels: &[Label], predicate: &str) -> Result<Sources> {
    let context = open_session(store).await?;
    let sql = format!(
        "SELECT source_id FROM (SELECT *, name AS source FROM sources) AS chosen WHERE ({predicate})"
    );
    let ids = ids(&context, &sql).await?;
    let own = list(&ids);
    // The source that owns the rows, and all its aliases.
    let sql = format!(
        "WITH wanted AS (SELECT coalesce(same_as, source_id) AS rows_of FROM sources WHERE source_id IN ({own})) \
         SELECT source_id FROM sources WHERE coalesce(same_as, source_id) IN (SELECT rows_of FROM wanted)"
    );
    let all = if ids.is_empty() {
        BTreeSet::new()
    } else {
        self::ids(&context, &sql).await?
    };
    let mut sources = Sources {
        other_names: (all.len() - ids.len()) as u64,
        ids: all,
        records: 0,
        are_all: false,
    };
    let ids = &sources.ids;
    let mut others = 0;
    let sql = "SELECT source_id, name, dataset, platform, sample_id, record_count FROM sources";
    for batch in collect(&context, sql).await? {
        let own = column::numbers::<Int64Type>(&batch, "source_id")?;
        let samples = column::numbers::<Int64Type>(&batch, "sample_id")?;
        let counts = column::numbers::<Int64Type>(&batch, "record_count")?;
        let (names, platforms) = (
            column::text(&batch, "name")?,
            column::text(&batch, "platform")?,
        );
        for row in 0..batch.num_rows() {
            if !ids.contains(&own.value(row)) {
                others += 1;
                continue;
            }
            sources.records += counts.value(row).unsigned_abs();
            let is_sample = samples.is_valid(row) || platforms.value(row) == NO_PLATFORM;
            if is_sample {
                return Err(Error::Argument {
                    name: "label",
                    reason: format!(
                        "{} has no records, and its labels are a part of its identity\n\
                         hint: `platform <> '{NO_PLATFORM}'` excludes such files",
                        names.value(row)
                    ),
                });
            }
        }
    }
    sources.are_all = others == 0;
    if labels.contains(&Label::Platform(NO_PLATFORM.to_owned())) {
        return Err(Error::Argument {
            name: "label",
            reason: format!("`{NO_PLATFORM}` is reserved for files without records"),
        });
    }
    Ok(sources)
}

impl Sources {
    fn to_report(&self) -> CorrectionReport {
        CorrectionReport {
            records: self.records,
            sources: self.ids.len() as u64,
            other_names: self.other_names,
            ..CorrectionReport::default()
        }
    }
}

async fn ids(context: &SessionContext, sql: &str) -> Result<BTreeSet<i64>> {
    let mut ids = BTreeSet::new();
    for batch in collect(context, sql).await? {
        ids.extend(column::numbers::<Int64Type>(&batch, "source_id")?.values());
    }
    Ok(ids)
}

fn list(ids: &BTreeSet<i64>) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(", ")
}

/// Returns rows with the new labels. The ingest log keeps the original platform, because the source id depends on it.
fn relabel_rows(rows: &RecordBatch, labels: &[Label]) -> Result<RecordBatch> {
    let schema = rows.schema();
    let label = |name: &str| {
        labels
            .iter()
            .map(Label::column_and_value)
            .find(|(own, _)| *own == name)
    };
    let text = |values: Vec<Option<&str>>| Arc::new(StringViewArray::from(values)) as ArrayRef;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (field, column) in schema.fields().iter().zip(rows.columns()) {
        let new = match (field.name().as_str(), label("platform")) {
            ("first_platform", Some((_, right))) => {
                let was = column::text(rows, "platform")?;
                let first = column::text(rows, "first_platform")?;
                let values = (0..rows.num_rows()).map(|row| {
                    let first = column::text_at(first, row).unwrap_or_else(|| was.value(row));
                    Some(first).filter(|first| Some(*first) != right)
                });
                text(values.collect())
            }
            (name, _) => match label(name) {
                Some((_, value)) => text(vec![value; rows.num_rows()]),
                None => Arc::clone(column),
            },
        };
        columns.push(new);
    }
    RecordBatch::try_new(schema, columns)
        .map_err(|error| Error::damaged("records", error.to_string()))
}
