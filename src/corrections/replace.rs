//! Edited files in the place of their earlier versions.
//!
//! ```text
//! dry run ─▶ which files have earlier versions?
//! retracted ← records of these ─▶ records: those of the new version come as these leave, in one commit ─▶ sources
//! ```
//!
//! At every moment the records of one version count. What is killed is finished by the same call again, as any correction.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::ledger::Correction;
use super::options::{Corrected, CorrectionOptions, Kind};
use crate::chosen::Lines;
use crate::error::{Error, Result};
use crate::ingest::{IngestOptions, ReplacedFile, Report};
use crate::ledger::{Ledger, Versions};
use crate::store::{RETRACTED, Store};

/// Why the records of earlier versions are retracted.
const WHY: &str = "replaced by a newer version of the file";

/// A file that takes the place of earlier versions.
struct Replacement {
    path: String,
    /// The source that it becomes; `None` where the store has it.
    new: Option<i64>,
    /// The source that it is, or begins with.
    same: Option<i64>,
    ids: BTreeSet<i64>,
    names: Vec<String>,
}

impl Replacement {
    fn of(versions: &Versions) -> Self {
        let earlier = versions.earlier.iter().filter(|one| one.is_same_place);
        Self {
            path: versions.path.clone(),
            new: versions.new,
            same: versions.same,
            ids: earlier.clone().map(|one| one.source_id).collect(),
            names: earlier.map(|one| one.name.clone()).collect(),
        }
    }

    /// Those of some lines that are of its earlier versions.
    fn lines(&self, all: &Lines) -> Lines {
        let mut own = all.clone();
        own.only(|id| self.ids.contains(&id));
        own
    }
}

impl Store {
    /// Ingests files as [`Store::ingest`] does, and lets each take the place of its earlier versions: those that were
    /// ingested from the same path on the same platform and are no beginning of it. Their records are retracted in the
    /// commit that brings the new ones: [`Store::restore`] puts them back. Files without an earlier version are ingested
    /// as ever.
    ///
    /// # Errors
    /// Those of [`Store::ingest`], [`Error::Refused`] while another correction is at work, and where a file is a version
    /// whose records were retracted, and [`Error::Argument`] for standard
    /// input, which has no earlier version, and for a dry run.
    pub async fn ingest_replacing(
        &self,
        inputs: &[String],
        options: &IngestOptions,
    ) -> Result<Report> {
        self.changeable()?;
        let wrong = |reason: &str| Error::Argument {
            name: "replace",
            reason: reason.to_owned(),
        };
        if options.dry_run {
            return Err(wrong("a dry run replaces nothing"));
        }
        if inputs.iter().any(|input| input == tsql_formats::STDIN) {
            return Err(wrong(
                "standard input has no earlier version, expected files",
            ));
        }
        let silent = options.clone().dry_run(true).progress(|_| {});
        let planned = self.ingest(inputs, &silent).await?;
        let files = planned.versions.iter().map(Replacement::of);
        let files: Vec<Replacement> = files.filter(|file| !file.ids.is_empty()).collect();
        let ids: BTreeSet<i64> = files.iter().flat_map(|file| file.ids.clone()).collect();
        if ids.is_empty() {
            return self.ingest(inputs, options).await;
        }
        self.reject_retracted(&files).await?;
        let list: Vec<String> = ids.iter().map(i64::to_string).collect();
        let predicate = format!("source_id IN ({})", list.join(", "));
        let lines = self.counted_lines(&predicate).await?;
        let new = Correction::new(
            Kind::Retract,
            &predicate,
            None,
            &corrected(&lines),
            &CorrectionOptions::why(WHY),
        );
        if lines.is_empty() && self.broken_off(&new).await?.is_none() {
            // All of them were replaced before.
            return self.ingest(inputs, options).await;
        }
        let (begun, resumed) = self.begin(new).await?;
        let lines = self.counted_lines(&predicate).await?;
        if !lines.is_empty() {
            for tables in RETRACTED {
                self.copy_lines(tables, &lines, &begun).await?;
            }
        }
        let replacing = files
            .iter()
            .filter_map(|file| Some((file.new?, file.lines(&lines))));
        let replacing: HashMap<i64, Lines> = replacing.collect();
        let options = IngestOptions {
            replacing: Arc::new(replacing),
            ..options.clone()
        };
        let ingested = self.ingest(inputs, &options).await;
        // Whatever came of it: the records of a version leave where the next one is in the store.
        let ledger = Ledger::load(self).await?;
        let mut kept = lines.clone();
        let mut replaced = Vec::new();
        for file in &files {
            let is_there = file.new.is_none_or(|id| ledger.source(id).is_some());
            if is_there && (file.new.is_some() || ingested.is_ok()) {
                kept.only(|id| !file.ids.contains(&id));
                replaced.push((file, file.lines(&lines).count()));
            }
        }
        let mut gone = lines.clone();
        gone.without(&kept);
        for (table, retracted) in RETRACTED {
            for (table, lines) in [(table, &gone), (retracted, &kept)] {
                if !lines.is_empty() {
                    self.take_out_lines(table, lines, &begun).await?;
                }
            }
        }
        let mut done = corrected(&gone);
        if resumed {
            done = self.done_of(&begun, done).await?;
        }
        done.correction_id = (done.records > 0).then(|| begun.correction_id.clone());
        self.end(begun, &done).await?;
        let mut report = ingested?;
        let replaced = replaced.into_iter().filter(|(_, records)| *records > 0);
        let replaced = replaced.map(|(file, records)| ReplacedFile {
            path: file.path.clone(),
            earlier: file.names.clone(),
            records,
        });
        report.replaced_files.extend(replaced);
        // What was counted twice while it was written counts once.
        let replaced: BTreeSet<&String> = files.iter().flat_map(|file| &file.names).collect();
        report
            .repeated_files
            .retain(|file| !replaced.contains(&file.earlier));
        Ok(report)
    }

    /// Rejects files that are versions whose records were retracted: without these, and without those of the other
    /// versions, none would count.
    async fn reject_retracted(&self, files: &[Replacement]) -> Result<()> {
        let ledger = Ledger::load(self).await?;
        let same: BTreeSet<i64> = files.iter().filter_map(|file| file.same).collect();
        if same.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = same.iter().map(i64::to_string).collect();
        let predicate = format!("source_id IN ({})", list.join(", "));
        let counted = self.counted_lines(&predicate).await?.sources();
        let has_records = |id: &i64| ledger.records_of.get(id).is_some_and(|count| *count > 0);
        let retracted = same
            .iter()
            .find(|&id| has_records(id) && !counted.contains(id));
        let Some(source) = retracted.and_then(|id| ledger.source(*id)) else {
            return Ok(());
        };
        let name = &source.name;
        Err(Error::Refused(format!(
            "the file is `{name}`, whose records were retracted\n\
             hint: `tsql restore --where \"source = '{}'\"` puts them back; run the same command again then",
            name.replace('\'', "''")
        )))
    }

    /// The records that a predicate selects and the ledger knows.
    async fn counted_lines(&self, predicate: &str) -> Result<Lines> {
        let mut lines = Lines::of(&self.session().await?, "records", predicate).await?;
        let ledger = Ledger::load(self).await?;
        lines.before(|source| ledger.first_unknown("records", source));
        Ok(lines)
    }
}

fn corrected(lines: &Lines) -> Corrected {
    Corrected {
        records: lines.count(),
        sources: lines.sources().len() as u64,
        ..Corrected::default()
    }
}
