//! Commits the rows of samples.

use std::collections::{BTreeMap, HashMap, HashSet};

use tsql_codecs::identity::{graph_id, sample_id, text_id};
use tsql_codecs::opgraph::OpType;
use tsql_error::{Error, Result};
use tsql_formats::graphnet::NAME;
use tsql_formats::graphnet::program::Program;
use tsql_formats::graphnet::sample::ParsedSampleFiles;
use tsql_store::Store;

use super::super::duplicate_index::DuplicateIndex;
use super::columns::{
    CallKey, GraphRow, SampleRow, graph_columns, node_type_columns, sample_columns,
};
use super::read::{LooseFile, ParsedInput, Sample};
use crate::dedupe::{KnownIds, NodeTypes, NumberAllocator, assign_numbers};
use crate::formats::format_reader::{CommitBatch, CommitOutput, ParseSummary};
use crate::formats::platform::NO_PLATFORM;
use crate::formats::texts::{NamedText, commit_texts};
use crate::ingest_log::{DocumentAttributes, ReadPlan, SourceSegment};

/// Bytes of files per commit.
const GROUP_BYTES: usize = 64 << 20;

/// Files per commit.
const GROUP_FILES: usize = 8192;

/// A sample with its graphs.
struct ParsedSample {
    sample: Sample,
    taken: ParsedSampleFiles,
    /// Identifier and content hash of the graph of each part; `None` for a part without a graph.
    graphs: Vec<Option<(i64, String)>>,
}

impl ParsedSample {
    fn new(sample: Sample, taken: ParsedSampleFiles) -> Self {
        let graphs = taken.samples.iter().map(|sample| {
            let program = sample.program.as_ref()?;
            let key = program.graph.content_hash();
            Some((graph_id(NAME, &key), key))
        });
        let graphs = graphs.collect();
        Self {
            sample,
            taken,
            graphs,
        }
    }

    /// Rows of `samples`: the sample itself, then its variants. Variants without a graph share that of the
    /// sample.
    fn rows(&self) -> Vec<SampleRow<'_>> {
        let samples = self.taken.samples.iter().zip(&self.graphs);
        let main = self.taken.samples.first();
        let main_graph = self.graphs.first().and_then(Option::as_ref);
        let rows = samples.map(|(sample, own)| {
            let variant = !sample.folder.is_empty();
            let graph = own.as_ref().or(main_graph.filter(|_| variant));
            let program = sample.program.as_ref();
            let program = program.or(main
                .and_then(|main| main.program.as_ref())
                .filter(|_| variant));
            SampleRow {
                path: if variant {
                    format!("{}/{}", self.sample.path, sample.folder)
                } else {
                    self.sample.path.clone()
                },
                variant_of: variant.then_some(self.sample.path.as_str()),
                files_hash: &self.sample.files_hash,
                graph_id: graph.map(|(id, _)| *id),
                size: program
                    .map(|program| (program.arguments.len(), program.graph.type_of_node.len())),
                sample,
                own_types: false,
            }
        });
        rows.collect()
    }

    /// Sample identifiers with the text identifiers of their `model.py`.
    fn model_texts(&self) -> impl Iterator<Item = (i64, i64)> {
        let rows = self.rows();
        let ids: Vec<i64> = rows.iter().map(SampleRow::sample_id).collect();
        let files = self.sample.files.iter().zip(&self.taken.files);
        files.filter_map(move |(file, &(place, _))| {
            let id = *ids.get(place)?;
            is_model(&file.name).then(|| (id, text_id(&file.bytes)))
        })
    }

    /// Segments of its files for the ingest log.
    fn to_segments(&self) -> Vec<SourceSegment> {
        let rows = self.rows();
        let files = self.sample.files.iter().zip(&self.taken.files);
        let files = files.zip(&self.sample.origins);
        let closed = files.filter_map(|((file, &(place, rebuilt)), (path, folder))| {
            let row = rows.get(place)?;
            let about = DocumentAttributes {
                collection: folder.clone(),
                graph_id: row.graph_id,
                sample_id: Some(sample_id(&row.path, &self.sample.files_hash)),
                text_id: (!rebuilt).then(|| text_id(&file.bytes)),
                ..DocumentAttributes::default()
            };
            let name = format!("{}/{}", self.sample.path, file.name);
            let reading = ReadPlan::for_new_file(NAME, NO_PLATFORM, name);
            let (bytes, hash) = (file.bytes.len() as u64, file.content_hash.clone());
            Some(SourceSegment {
                about,
                ..SourceSegment::for_document(NAME, reading, path.clone(), bytes, hash)
            })
        });
        closed.collect()
    }
}

/// Samples and other files that are not yet committed.
pub(crate) struct PendingSamples {
    parsed: Vec<ParsedSample>,
    loose: Vec<LooseFile>,
    bytes: usize,
    levels: DuplicateIndex,
    types: NodeTypes<CallKey>,
    graphs: KnownIds,
    texts: KnownIds,
    samples: KnownIds,
}

impl CommitBatch for PendingSamples {
    type Read = ParsedInput;

    async fn begin(store: &Store) -> Result<Self> {
        Ok(Self {
            parsed: Vec::new(),
            loose: Vec::new(),
            bytes: 0,
            levels: DuplicateIndex::load(store).await?,
            types: NodeTypes::default(),
            graphs: KnownIds::graphs(),
            texts: KnownIds::texts(),
            samples: KnownIds::samples(),
        })
    }

    fn add(&mut self, read: ParsedInput) -> ParseSummary {
        match read {
            ParsedInput::Sample(sample, taken) => self.add_sample(ParsedSample::new(sample, taken)),
            ParsedInput::Loose(loose) => self.add_loose_file(loose),
        }
    }

    fn is_full(&self, files: usize) -> bool {
        self.bytes >= GROUP_BYTES || files >= GROUP_FILES
    }

    /// If an interrupted run, possibly of an older version, has left rows of a sample, its `model.py` is
    /// stored as text.
    async fn commit(
        &mut self,
        store: &Store,
        closed: &mut [SourceSegment],
    ) -> Result<CommitOutput> {
        let parsed = std::mem::take(&mut self.parsed);
        let loose = std::mem::take(&mut self.loose);
        self.bytes = 0;
        let (mut left, mut new_graphs) = (HashSet::new(), 0);
        if !parsed.is_empty() {
            self.commit_types(store, &parsed).await?;
            let typed;
            (new_graphs, typed) = self.commit_graphs(store, &parsed).await?;
            left = self.commit_samples(store, &parsed, &typed).await?;
        }
        let texts = texts_to_store(&parsed, &loose, &left);
        commit_texts(&mut self.texts, store, texts).await?;
        let models = parsed.iter().flat_map(ParsedSample::model_texts);
        let models: HashMap<i64, i64> = models.filter(|(id, _)| left.contains(id)).collect();
        for file in closed {
            let model = file.about.sample_id.and_then(|id| models.get(&id));
            if is_model(&file.reading.name) {
                file.about.text_id = model.copied().or(file.about.text_id);
            }
        }
        Ok(CommitOutput {
            new_graphs,
            ..CommitOutput::default()
        })
    }

    fn clear(&mut self) {
        self.parsed.clear();
        self.loose.clear();
        self.bytes = 0;
    }
}

impl PendingSamples {
    fn add_sample(&mut self, parsed: ParsedSample) -> ParseSummary {
        let sample = &parsed.sample;
        let closed = parsed.to_segments();
        let mut told = ParseSummary {
            bytes: closed.iter().map(|file| file.end_byte).sum(),
            closed,
            ..ParseSummary::default()
        };
        let problems = parsed.taken.samples.iter().flat_map(|one| &one.problems);
        let notes = problems.map(|(name, line, reason)| {
            let path = format!("{}/{name}", sample.shown);
            (path, *line, reason.clone())
        });
        told.notes.extend(notes);
        if sample.renamed {
            told.renamed = Some((sample.shown.clone(), sample.path.clone()));
        }
        let rows = parsed.rows();
        for row in rows.iter().filter(|row| row.variant_of.is_none()) {
            let program = row.sample.program.as_ref();
            let known = self.levels.find_and_add(
                &row.path,
                row.files_hash,
                row.sample.upstream_hash.as_deref(),
                program.map(|program| &program.graph),
            );
            told.samples += 1;
            told.similar_samples.extend(known);
        }
        drop(rows);
        let bytes = sample.files.iter().map(|file| file.bytes.len());
        self.bytes += bytes.sum::<usize>();
        self.parsed.push(parsed);
        told
    }

    fn add_loose_file(&mut self, loose: LooseFile) -> ParseSummary {
        let about = DocumentAttributes {
            collection: loose.source_folder.clone(),
            text_id: Some(text_id(&loose.file.bytes)),
            ..DocumentAttributes::default()
        };
        let bytes = loose.file.bytes.len();
        let (reading, path) = (loose.reading.clone(), loose.path.clone());
        let hash = loose.file.content_hash.clone();
        let closed = SourceSegment {
            about,
            ..SourceSegment::for_document(NAME, reading, path, bytes as u64, hash)
        };
        self.bytes += bytes;
        self.loose.push(loose);
        ParseSummary {
            closed: vec![closed],
            bytes: bytes as u64,
            ..ParseSummary::default()
        }
    }

    async fn commit_types(&mut self, store: &Store, parsed: &[ParsedSample]) -> Result<()> {
        let types = programs(parsed).flat_map(|program| &program.graph.types);
        let types: Vec<(CallKey, &OpType)> = types.map(|one| (call_key(one), one)).collect();
        assign_numbers(&mut self.types, store, &types, |new| {
            Ok(node_type_columns(new))
        })
        .await?;
        Ok(())
    }

    /// Commits graphs. Returns the number of new ones, and the positions (sample, part) of those whose rows
    /// contain the value types.
    async fn commit_graphs(
        &mut self,
        store: &Store,
        parsed: &[ParsedSample],
    ) -> Result<(u64, HashSet<(usize, usize)>)> {
        let mut all: BTreeMap<i64, (GraphRow<'_>, (usize, usize))> = BTreeMap::new();
        for (at, one) in parsed.iter().enumerate() {
            let samples = one.taken.samples.iter().zip(&one.graphs);
            for (part, (sample, graph)) in samples.enumerate() {
                let (Some(program), Some((id, key))) = (&sample.program, graph) else {
                    continue;
                };
                let types = program.graph.types.iter();
                let types = types.map(|one| self.types.number(&call_key(one)));
                let types: Option<Vec<i64>> = types.collect();
                let lost = || Error::damaged("node_types", "numbers were lost");
                let row = GraphRow {
                    key,
                    types: types.ok_or_else(lost)?,
                    graph: &program.graph,
                    output_types: &program.output_types,
                };
                all.entry(*id).or_insert((row, (at, part)));
            }
        }
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        for (id, (row, place)) in all {
            rows.push((id, row));
            places.push((id, place));
        }
        let added = self.graphs.add(store, &rows, graph_columns).await?;
        let places = places.into_iter().filter(|(id, _)| added.contains(id));
        let typed = places.map(|(_, place)| place).collect();
        Ok((added.len() as u64, typed))
    }

    /// Commits samples. Returns those that the store already had.
    async fn commit_samples(
        &mut self,
        store: &Store,
        parsed: &[ParsedSample],
        typed: &HashSet<(usize, usize)>,
    ) -> Result<HashSet<i64>> {
        let mut rows: Vec<(i64, SampleRow<'_>)> = Vec::new();
        for (at, one) in parsed.iter().enumerate() {
            for (part, row) in one.rows().into_iter().enumerate() {
                let own_types = !typed.contains(&(at, part));
                rows.push((row.sample_id(), SampleRow { own_types, ..row }));
            }
        }
        let added = self.samples.add(store, &rows, sample_columns).await?;
        let ids = rows.iter().map(|(id, _)| *id);
        Ok(ids.filter(|id| !added.contains(id)).collect())
    }
}

/// Texts that columns do not restore. Includes `model.py` of the samples in `left`, which another run has
/// left.
fn texts_to_store<'a>(
    parsed: &'a [ParsedSample],
    loose: &'a [LooseFile],
    left: &HashSet<i64>,
) -> BTreeMap<i64, NamedText<'a>> {
    let mut texts: BTreeMap<i64, NamedText<'a>> = BTreeMap::new();
    for one in parsed {
        let rows = one.rows();
        for (file, &(place, rebuilt)) in one.sample.files.iter().zip(&one.taken.files) {
            let row = rows.get(place).map(SampleRow::sample_id);
            let left = is_model(&file.name) && row.is_some_and(|id| left.contains(&id));
            if !rebuilt || left {
                let name = || format!("{}/{}", one.sample.path, file.name);
                let text = texts.entry(text_id(&file.bytes));
                text.or_insert_with(|| (name(), file.bytes.as_slice()));
            }
        }
    }
    for one in loose {
        let text = texts.entry(text_id(&one.file.bytes));
        text.or_insert_with(|| (one.reading.name.clone(), one.file.bytes.as_slice()));
    }
    texts
}

/// Returns whether this file contains a graph.
fn is_model(name: &str) -> bool {
    name.rsplit('/').next() == Some("model.py")
}

fn call_key(one: &OpType) -> CallKey {
    (one.signature.clone(), one.outputs)
}

fn programs(parsed: &[ParsedSample]) -> impl Iterator<Item = &Program> {
    let samples = parsed.iter().flat_map(|one| &one.taken.samples);
    samples.filter_map(|sample| sample.program.as_ref())
}
