//! Parts of files: the lines that were chosen are shorter files of their own in the other store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
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
        let files = written
            .iter()
            .map(|part| part.path.to_string_lossy().into_owned());
        let files: Vec<String> = files.collect();
        let report = self.to.ingest(&files, &options).await?;
        copied.records += report.records;
        copied.configurations += report.new_configurations;
        copied.graphs += report.new_graphs;
        copied.known += report.unchanged_files;
        copied.refused.extend(report.failed_files);
        for part in written {
            if let Some(file) = parts.get(&part.source_id) {
                let name = format!("{PARTS}/{}", file.name);
                copied.parts.push((file.name.clone(), name, part.lines));
            }
        }
        Ok(())
    }

    /// Writes the lines of each file into a folder of its own below `folder`, with the list that says what they are.
    async fn write(
        &self,
        left: &Lines,
        parts: &BTreeMap<i64, &source::SourceFile>,
        folder: &Path,
    ) -> Result<Vec<Part>> {
        let chosen = left.batch()?;
        let table = MemTable::try_new(chosen.schema(), vec![vec![chosen]]);
        let _ = self.context.deregister_table(CHOSEN);
        self.context
            .register_table(CHOSEN, Arc::new(table.map_err(Error::Query)?))
            .map_err(Error::Query)?;
        let mut spellers = Vec::new();
        for dialect in Dialect::ALL {
            let own = Written::load(&self.context, dialect).await?;
            spellers.push((dialect, own));
        }
        let mut rows = lines::among_lines(&self.context, CHOSEN).await?;
        let (mut listed, mut written) = (Vec::new(), Vec::new());
        let mut open: Option<Open> = None;
        let mut line = Vec::new();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let mut spelled = spellers
                .iter_mut()
                .map(|(dialect, lines)| Ok((*dialect, lines.of(&batch)?)))
                .collect::<Result<Vec<_>>>()?;
            for row in lines::rows_of(&batch)? {
                let id = row.source_id();
                let Some(file) = parts.get(&id) else { continue };
                let own = spelled
                    .iter_mut()
                    .find(|(dialect, _)| dialect.dataset() == row.dataset);
                let Some((dialect, own)) = own else { continue };
                if open.as_ref().is_none_or(|open| open.part.source_id != id) {
                    if let Some(open) = open.take() {
                        written.push(open.finish()?);
                    }
                    let below = written.len().to_string();
                    let new = Open::create(&folder.join(&below), id, *dialect, &file.name)?;
                    listed.push(ExportedFile {
                        path: format!("{below}/{PART}"),
                        name: format!("{PARTS}/{}", file.name),
                        dataset: file.dataset.clone(),
                        platform: file.platform.clone(),
                        collection: file.collection.clone(),
                        split: file.split.clone(),
                        labels: file.labels.clone().into_map(),
                        hub_path: None,
                    });
                    open = Some(new);
                }
                let Some(open) = open.as_mut() else { continue };
                line.clear();
                own.write(&row, false, &mut line)?;
                line.push(b'\n');
                let refers = row.workload_index().zip(own.graph_key(&row));
                open.write(&line, refers)?;
            }
        }
        if let Some(open) = open.take() {
            written.push(open.finish()?);
        }
        let path = folder.join(SIDECAR);
        let failed = |error: serde_json::Error| Error::io(&path)(error.into());
        let text = serde_json::to_vec(&Sidecar::new(listed)).map_err(failed)?;
        std::fs::write(&path, text).map_err(Error::io(&path))?;
        Ok(written)
    }
}

/// The name of a file with the chosen lines of another one.
const PART: &str = "part";

/// A file with the chosen lines of another one.
struct Part {
    source_id: i64,
    path: PathBuf,
    lines: u64,
}

/// Such a file while it is written.
struct Open {
    part: Part,
    out: BufWriter<File>,
    dialect: Dialect,
    /// The file that its lines refer to, and what they refer to there: graphs, by their places.
    beside: Option<PathBuf>,
    graphs: BTreeMap<i32, String>,
}

impl Open {
    fn create(folder: &Path, source_id: i64, dialect: Dialect, name: &str) -> Result<Self> {
        std::fs::create_dir(folder).map_err(Error::io(folder))?;
        let path = folder.join(PART);
        let out = File::create_new(&path).map_err(Error::io(&path))?;
        let beside = dialect.beside(name);
        let beside = beside.map(|name| folder.join(name.rsplit('/').next().unwrap_or(&name)));
        Ok(Self {
            part: Part {
                source_id,
                path,
                lines: 0,
            },
            out: BufWriter::new(out),
            dialect,
            beside,
            graphs: BTreeMap::new(),
        })
    }

    /// Writes a line, which may refer to a graph by its place in another file.
    fn write(&mut self, line: &[u8], refers: Option<(i32, &str)>) -> Result<()> {
        self.out
            .write_all(line)
            .map_err(Error::io(&self.part.path))?;
        self.part.lines += 1;
        if let Some((place, graph)) = refers
            && !self.graphs.contains_key(&place)
        {
            self.graphs.insert(place, graph.to_owned());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Part> {
        self.out.flush().map_err(Error::io(&self.part.path))?;
        if let Some(path) = self.beside {
            // So that the lines have the graphs there which they have here.
            let names = self.dialect.graph_names(&self.graphs);
            std::fs::write(&path, names).map_err(Error::io(&path))?;
        }
        Ok(self.part)
    }
}
