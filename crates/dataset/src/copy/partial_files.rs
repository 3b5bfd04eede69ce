//! Copy of some lines of a file: the selected lines become a shorter file of their own in the other store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::datasource::MemTable;
use futures::StreamExt as _;
use tsql_adapters::formats::lines;
use tsql_adapters::formats::lines::LineWriter as Written;
use tsql_adapters::formats::source;
use tsql_adapters::ingest_log::IngestLog;
use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_formats::Dialect;
use tsql_formats::export_manifest::{ExportManifest, ExportedFile, MANIFEST_FILE};

use super::job::{CopyJob, CopyReport};
use super::plan::fully_chosen_sources;
use super::sources::{PARTS, destination_sources};
use crate::ingest::{IngestOptions, ingest};
use crate::line_selection::LineSelection;

/// Session table of the selected lines.
const CHOSEN: &str = "chosen_lines";

impl CopyJob<'_> {
    /// Copies the lines of files of which only some were selected.
    pub(super) async fn copy_partial_files(
        &self,
        chosen: &LineSelection,
        copied: &mut CopyReport,
    ) -> Result<()> {
        let mut left = chosen.clone();
        let whole = fully_chosen_sources(&self.context, chosen).await?;
        left.retain_sources(|id| whole.get(&id) == Some(&false));
        if left.is_empty() {
            return Ok(());
        }
        let files = source::load_sources(&self.context).await?;
        let (there, ledger) = (
            destination_sources(self.to).await?,
            IngestLog::load(self.to).await?,
        );
        let is_there = |file: &source::SourceFile| {
            let same_name = ledger.sources_named(&file.name).into_iter();
            let mut known = same_name.filter(|known| known.is_on(&file.platform));
            let whole = (file.end_byte(), file.content_hash.clone());
            known.any(|known| {
                let ends = there.ends.get(&known.source_id);
                ends.is_some_and(|ends| ends.contains(&whole))
            })
        };
        let mut parts = BTreeMap::new();
        for file in files.iter().filter(|file| left.has_source(file.source_id)) {
            let mut dialects = Dialect::ALL.iter().copied();
            let is_line = dialects.any(|dialect| dialect.dataset() == file.dataset);
            if !is_line {
                let reason = "it is one document, and only a part of it was selected";
                copied.rejected.push((file.name.clone(), reason.to_owned()));
            } else if is_there(file) {
                // The other store has all of it.
                copied.unchanged += 1;
            } else {
                parts.insert(file.source_id, file);
            }
        }
        left.retain_sources(|id| parts.contains_key(&id));
        if left.is_empty() {
            return Ok(());
        }
        let scratch = Scratch::new()?;
        let written = self
            .write_partial_files(&left, &parts, scratch.path())
            .await?;
        let options = IngestOptions::default();
        let files = written
            .iter()
            .map(|part| part.path.to_string_lossy().into_owned());
        let files: Vec<String> = files.collect();
        let report = ingest(self.to, &files, &options).await?;
        copied.records += report.records;
        copied.configurations += report.new_configurations;
        copied.graphs += report.new_graphs;
        copied.unchanged += report.unchanged_files;
        copied.rejected.extend(report.failed_files);
        for part in written {
            if let Some(file) = parts.get(&part.source_id) {
                let name = format!("{PARTS}/{}", file.name);
                copied.partial.push((file.name.clone(), name, part.lines));
            }
        }
        Ok(())
    }

    /// Writes the lines of each file into a separate folder below `folder`, with the sidecar that describes them.
    async fn write_partial_files(
        &self,
        left: &LineSelection,
        parts: &BTreeMap<i64, &source::SourceFile>,
        folder: &Path,
    ) -> Result<Vec<PartialFile>> {
        let chosen = left.to_batch()?;
        let table = MemTable::try_new(chosen.schema(), vec![vec![chosen]]);
        let _ = self.context.deregister_table(CHOSEN);
        self.context
            .register_table(CHOSEN, Arc::new(table.map_err(Error::Query)?))
            .map_err(Error::Query)?;
        let mut spellers = Vec::new();
        for &dialect in Dialect::ALL {
            let own = Written::load(&self.context, dialect).await?;
            spellers.push((dialect, own));
        }
        let mut rows = lines::records_at_lines(&self.context, CHOSEN).await?;
        let (mut listed, mut written) = (Vec::new(), Vec::new());
        let mut open: Option<PartialFileWriter> = None;
        let mut line = Vec::new();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let mut spelled = spellers
                .iter_mut()
                .map(|(dialect, lines)| Ok((*dialect, lines.for_batch(&batch)?)))
                .collect::<Result<Vec<_>>>()?;
            for row in lines::record_rows(&batch)? {
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
                    let new =
                        PartialFileWriter::create(&folder.join(&below), id, *dialect, &file.name)?;
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
        let path = folder.join(MANIFEST_FILE);
        let failed = |error: serde_json::Error| Error::io(&path)(error.into());
        let text = serde_json::to_vec(&ExportManifest::new(listed)).map_err(failed)?;
        std::fs::write(&path, text).map_err(Error::io(&path))?;
        Ok(written)
    }
}

/// Name of a file with selected lines.
const PART: &str = "part";

/// A file with the selected lines of another one.
struct PartialFile {
    source_id: i64,
    path: PathBuf,
    lines: u64,
}

/// Writer of such a file.
struct PartialFileWriter {
    part: PartialFile,
    out: BufWriter<File>,
    dialect: Dialect,
    /// The file that its lines refer to, and the graphs that they refer to there, by position.
    beside: Option<PathBuf>,
    graphs: BTreeMap<i32, String>,
}

impl PartialFileWriter {
    fn create(folder: &Path, source_id: i64, dialect: Dialect, name: &str) -> Result<Self> {
        std::fs::create_dir(folder).map_err(Error::io(folder))?;
        let path = folder.join(PART);
        let out = File::create_new(&path).map_err(Error::io(&path))?;
        let beside = dialect.companion_file_name(name);
        let beside = beside.map(|name| folder.join(name.rsplit('/').next().unwrap_or(&name)));
        Ok(Self {
            part: PartialFile {
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

    /// Writes a line, which may refer to a graph by its position in another file.
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

    fn finish(mut self) -> Result<PartialFile> {
        self.out.flush().map_err(Error::io(&self.part.path))?;
        if let Some(path) = self.beside {
            // The lines refer to the same graphs in the new file.
            let names = self.dialect.write_companion_graphs(&self.graphs);
            std::fs::write(&path, names).map_err(Error::io(&path))?;
        }
        Ok(self.part)
    }
}
