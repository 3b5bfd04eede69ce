//! Replacement of earlier versions of a file by an edited one.
//!
//! ```text
//! dry run ─▶ which files have earlier versions?
//! retracted ← their records ─▶ records: new ones are added and old ones deleted in one commit ─▶ sources
//! ```
//!
//! At any time the records of exactly one version count. As with any correction, the same call finishes an interrupted
//! one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tsql_adapters::ingest_log::{EarlierVersions, IngestLog};
use tsql_error::{Error, Result};
use tsql_session::open_session;
use tsql_store::{RETRACTED, Store};

use super::correction_log::Correction;
use super::options::{CorrectionKind, CorrectionOptions, CorrectionReport};
use crate::corrections::correction_log::{begin_correction, find_unfinished, finish_correction};
use crate::corrections::retract::{copy_lines, delete_lines, resumed_report};
use crate::ingest::ingest;
use crate::ingest::{IngestOptions, ReplacedFile, Report};
use crate::line_selection::LineSelection;

/// Reason of the retractions.
const WHY: &str = "replaced by a newer version of the file";

/// A file that replaces earlier versions.
struct Replacement {
    path: String,
    /// Its new source. `None` if the store has it already.
    new: Option<i64>,
    /// The existing source that is equal to it, or that it is a prefix of.
    same: Option<i64>,
    ids: BTreeSet<i64>,
    names: Vec<String>,
}

impl Replacement {
    fn new(versions: &EarlierVersions) -> Self {
        let earlier = versions.earlier.iter().filter(|one| one.is_same_place);
        Self {
            path: versions.path.clone(),
            new: versions.new,
            same: versions.same,
            ids: earlier.clone().map(|one| one.source_id).collect(),
            names: earlier.map(|one| one.name.clone()).collect(),
        }
    }

    /// Returns those lines that belong to its earlier versions.
    fn earlier_lines(&self, all: &LineSelection) -> LineSelection {
        let mut own = all.clone();
        own.retain_sources(|id| self.ids.contains(&id));
        own
    }
}

/// Ingests files as [`ingest`](crate::ingest::ingest) does, and replaces their earlier versions: sources that were ingested from
/// the same path on the same platform and are not a prefix of the file. Their records are retracted in the commit
/// that adds the new ones; [`restore`](crate::corrections::restore) puts them back. Files without an earlier version are ingested as
/// usual.
///
/// # Errors
/// As [`ingest`](crate::ingest::ingest). [`Error::Refused`] while another correction is running, and if a file is a version
/// whose records were retracted. [`Error::Argument`] for standard input, which has no earlier version, and for a
/// dry run.
pub async fn ingest_replacing(
    store: &Store,
    inputs: &[String],
    options: &IngestOptions,
) -> Result<Report> {
    store.check_writable()?;
    let wrong = |reason: &str| Error::Argument {
        name: "replace",
        reason: reason.to_owned(),
    };
    if options.dry_run {
        return Err(wrong("a dry run cannot replace files"));
    }
    if inputs.iter().any(|input| input == tsql_formats::STDIN) {
        return Err(wrong(
            "standard input has no earlier version, expected files",
        ));
    }
    let silent = options.clone().dry_run(true).progress(|_| {});
    let planned = ingest(store, inputs, &silent).await?;
    let files = planned.versions.iter().map(Replacement::new);
    let files: Vec<Replacement> = files.filter(|file| !file.ids.is_empty()).collect();
    let ids: BTreeSet<i64> = files.iter().flat_map(|file| file.ids.clone()).collect();
    if ids.is_empty() {
        return ingest(store, inputs, options).await;
    }
    reject_retracted(store, &files).await?;
    let list: Vec<String> = ids.iter().map(i64::to_string).collect();
    let predicate = format!("source_id IN ({})", list.join(", "));
    let lines = counted_lines(store, &predicate).await?;
    let new = Correction::new(
        CorrectionKind::Retract,
        &predicate,
        None,
        &to_report(&lines),
        &CorrectionOptions::why(WHY),
    );
    if lines.is_empty() && find_unfinished(store, &new).await?.is_none() {
        // All of them were replaced before.
        return ingest(store, inputs, options).await;
    }
    let (begun, resumed) = begin_correction(store, new).await?;
    let lines = counted_lines(store, &predicate).await?;
    if !lines.is_empty() {
        for tables in RETRACTED {
            copy_lines(store, tables, &lines, &begun).await?;
        }
    }
    let replacing = files
        .iter()
        .filter_map(|file| Some((file.new?, file.earlier_lines(&lines))));
    let replacing: HashMap<i64, LineSelection> = replacing.collect();
    let options = IngestOptions {
        replacing: Arc::new(replacing),
        ..options.clone()
    };
    let ingested = ingest(store, inputs, &options).await;
    // In any case, the records of a version are retracted once the next one is in the store.
    let ledger = IngestLog::load(store).await?;
    let mut kept = lines.clone();
    let mut replaced = Vec::new();
    for file in &files {
        let is_there = file.new.is_none_or(|id| ledger.source_by_id(id).is_some());
        if is_there && (file.new.is_some() || ingested.is_ok()) {
            kept.retain_sources(|id| !file.ids.contains(&id));
            replaced.push((file, file.earlier_lines(&lines).count()));
        }
    }
    let mut gone = lines.clone();
    gone.subtract(&kept);
    for (table, retracted) in RETRACTED {
        for (table, lines) in [(table, &gone), (retracted, &kept)] {
            if !lines.is_empty() {
                delete_lines(store, table, lines, &begun).await?;
            }
        }
    }
    let mut done = to_report(&gone);
    if resumed {
        done = resumed_report(store, &begun, done).await?;
    }
    done.correction_id = (done.records > 0).then(|| begun.correction_id.clone());
    finish_correction(store, begun, &done).await?;
    let mut report = ingested?;
    let replaced = replaced.into_iter().filter(|(_, records)| *records > 0);
    let replaced = replaced.map(|(file, records)| ReplacedFile {
        path: file.path.clone(),
        earlier: file.names.clone(),
        records,
    });
    report.replaced_files.extend(replaced);
    // Records that counted twice during the write count once.
    let replaced: BTreeSet<&String> = files.iter().flat_map(|file| &file.names).collect();
    report
        .repeated_files
        .retain(|file| !replaced.contains(&file.earlier));
    Ok(report)
}

/// Rejects files whose records were retracted before. With the other versions retracted as well, no records would
/// count.
async fn reject_retracted(store: &Store, files: &[Replacement]) -> Result<()> {
    let ledger = IngestLog::load(store).await?;
    let same: BTreeSet<i64> = files.iter().filter_map(|file| file.same).collect();
    if same.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = same.iter().map(i64::to_string).collect();
    let predicate = format!("source_id IN ({})", list.join(", "));
    let counted = counted_lines(store, &predicate).await?.sources();
    let has_records = |id: &i64| ledger.records_of.get(id).is_some_and(|count| *count > 0);
    let retracted = same
        .iter()
        .find(|&id| has_records(id) && !counted.contains(id));
    let Some(source) = retracted.and_then(|id| ledger.source_by_id(*id)) else {
        return Ok(());
    };
    let name = &source.name;
    Err(Error::Refused(format!(
        "the file is stored as `{name}`, whose records were retracted\n\
         hint: `tsql restore --where \"source = '{}'\"` restores them; then run the same \
         command again",
        name.replace('\'', "''")
    )))
}

/// Returns the records that a predicate selects and that are in the ingest log.
async fn counted_lines(store: &Store, predicate: &str) -> Result<LineSelection> {
    let mut lines =
        LineSelection::select(&open_session(store).await?, "records", predicate).await?;
    let ledger = IngestLog::load(store).await?;
    lines.retain_before(|source| ledger.first_unknown("records", source));
    Ok(lines)
}

fn to_report(lines: &LineSelection) -> CorrectionReport {
    CorrectionReport {
        records: lines.count(),
        sources: lines.sources().len() as u64,
        ..CorrectionReport::default()
    }
}
