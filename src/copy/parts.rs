//! Parts of files: the lines that were chosen are shorter files of their own in the other store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use datafusion::datasource::MemTable;
use futures::StreamExt as _;
use tsql_folders::Scratch;
use tsql_formats::Dialect;
use tsql_formats::exported::{ExportedFile, SIDECAR, Sidecar};

use super::job::{Copied, Copy};
use super::plan::whole;
use super::sources::{PARTS, there};
use crate::chosen::Lines;
use crate::error::{Error, Result};
use crate::formats::lines::{self, Lines as Written};
use crate::formats::source;
use crate::ingest::IngestOptions;
use crate::ledger::Ledger;

/// Chosen lines, as a table of the session.
const CHOSEN: &str = "chosen_lines";

impl Copy<'_> {
    /// Copies the lines of files of which not all were chosen.
    pub(super) async fn parts(&self, chosen: &Lines, copied: &mut Copied) -> Result<()> {
        let mut left = chosen.clone();
        let whole = whole(&self.context, chosen).await?;
        left.only(|id| whole.get(&id) == Some(&false));
        if left.is_empty() {
            return Ok(());
        }
        let files = source::all(&self.context).await?;
        let (there, ledger) = (there(self.to).await?, Ledger::load(self.to).await?);
        let is_there = |file: &source::SourceFile| {
            let same_name = ledger.of_name(&file.name).into_iter();
            let mut known = same_name.filter(|known| known.is_on(&file.platform));
            let whole = (file.end_byte(), file.content_hash.clone());
            known.any(|known| {
                let ends = there.ends.get(&known.source_id);
                ends.is_some_and(|ends| ends.contains(&whole))
            })
        };
        let mut parts = BTreeMap::new();
        for file in files.iter().filter(|file| left.has(file.source_id)) {
            let mut dialects = Dialect::ALL.into_iter();
            let is_line = dialects.any(|dialect| dialect.dataset() == file.dataset);
            if !is_line {
                let reason = "only a part of it was selected, and it is one document";
                copied.refused.push((file.name.clone(), reason.to_owned()));
            } else if is_there(file) {
                // All of it is there.
                copied.known += 1;
            } else {
                parts.insert(file.source_id, file);
            }
        }
        left.only(|id| parts.contains_key(&id));
        if left.is_empty() {
            return Ok(());
        }
        let scratch = Scratch::new()?;
        let written = self.write(&left, &parts, scratch.path()).await?;
        let options = IngestOptions::default();
        let folder = scratch.path().to_string_lossy().into_owned();
        let report = self.to.ingest(&[folder], &options).await?;
        copied.records += report.records;
        copied.configurations += report.new_configurations;
        copied.graphs += report.new_graphs;
        copied.known += report.unchanged_files;
        copied.refused.extend(report.failed_files);
        for (id, count) in written {
            if let Some(file) = parts.get(&id) {
                let part = format!("{PARTS}/{}", file.name);
                copied.parts.push((file.name.clone(), part, count));
            }
        }
        Ok(())
    }

    /// Writes the lines of each file below a folder, with the list that says what they are; how many each has.
    async fn write(
        &self,
        left: &Lines,
        parts: &BTreeMap<i64, &source::SourceFile>,
        folder: &Path,
    ) -> Result<Vec<(i64, u64)>> {
        let chosen = left.batch()?;
        let table = MemTable::try_new(chosen.schema(), vec![vec![chosen]]);
        let _ = self.context.deregister_table(CHOSEN);
        self.context
            .register_table(CHOSEN, Arc::new(table.map_err(Error::Query)?))
            .map_err(Error::Query)?;
        let mut spellers = Vec::new();
        for dialect in Dialect::ALL {
            let own = Written::load(&self.context, dialect).await?;
            spellers.push((dialect.dataset(), own));
        }
        let mut rows = lines::among_lines(&self.context, CHOSEN).await?;
        let (mut listed, mut counts) = (Vec::new(), Vec::new());
        let mut open: Option<(i64, u64, BufWriter<File>)> = None;
        let mut line = Vec::new();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let mut spelled = spellers
                .iter_mut()
                .map(|(dataset, lines)| Ok((*dataset, lines.of(&batch)?)))
                .collect::<Result<Vec<_>>>()?;
            for row in lines::rows_of(&batch)? {
                let id = row.source_id();
                let Some(file) = parts.get(&id) else { continue };
                if open.as_ref().is_none_or(|(known, _, _)| *known != id) {
                    if let Some((id, count, mut out)) = open.take() {
                        out.flush().map_err(Error::io(folder))?;
                        counts.push((id, count));
                    }
                    let name = format!("{}.part", counts.len());
                    let path = folder.join(&name);
                    let out = File::create_new(&path).map_err(Error::io(&path))?;
                    open = Some((id, 0, BufWriter::new(out)));
                    listed.push(ExportedFile {
                        path: name,
                        name: format!("{PARTS}/{}", file.name),
                        dataset: file.dataset.clone(),
                        platform: file.platform.clone(),
                        collection: file.collection.clone(),
                        split: file.split.clone(),
                        labels: file.labels.clone().into_map(),
                        hub_path: None,
                    });
                }
                let own = spelled.iter_mut().find(|(name, _)| *name == row.dataset);
                let (Some((_, own)), Some((_, count, out))) = (own, open.as_mut()) else {
                    continue;
                };
                line.clear();
                own.write(&row, false, &mut line)?;
                line.push(b'\n');
                out.write_all(&line).map_err(Error::io(folder))?;
                *count += 1;
            }
        }
        if let Some((id, count, mut out)) = open.take() {
            out.flush().map_err(Error::io(folder))?;
            counts.push((id, count));
        }
        let path = folder.join(SIDECAR);
        let failed = |error: serde_json::Error| Error::io(&path)(error.into());
        let text = serde_json::to_vec(&Sidecar::new(listed)).map_err(failed)?;
        std::fs::write(&path, text).map_err(Error::io(&path))?;
        Ok(counts)
    }
}
