//! Commits the rows of documents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tsql_codecs::graph::NodeType;
use tsql_codecs::identity::{ProgramHash, environment_id};
use tsql_codecs::sketch::{self, Scan};
use tsql_codecs::varint;
use tsql_error::{Error, Result};
use tsql_formats::rows::Sketch;
use tsql_formats::tpugraphs::{ArrayForm, Configurations, NAME};
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::columns::{
    TARGET, environment_columns, graph_columns, node_type_columns, record_columns,
};
use super::parsed::{PendingDocument, tile_steps};
use super::read::ParsedDocument;
use crate::dedupe::{
    Configurations as Known, KnownIds, NodeTypes, NumberAllocator, assign_numbers,
};
use crate::formats::configurations::ConfigurationRows;
use crate::formats::format_reader::{CommitBatch, CommitOutput, ParseSummary, TableRows};
use crate::ingest_log::{DocumentAttributes, SourceSegment};

/// Records per commit; checked at the end of a file.
const GROUP_ROWS: usize = 1 << 18;

/// Files per commit.
const GROUP_FILES: usize = 512;

/// Configurations that are cached between commits.
const KNOWN_CONFIGURATIONS: usize = 1 << 18;

/// A row of a document, with the key of its configuration.
type DocumentRow<'a> = ((i64, ProgramHash), (&'a PendingDocument, usize));

/// Documents that are not yet committed.
pub(crate) struct PendingDocuments {
    documents: Vec<PendingDocument>,
    rows: usize,
    types: NodeTypes<NodeType>,
    graphs: KnownIds,
    environments: KnownIds,
    configurations: Known,
}

impl CommitBatch for PendingDocuments {
    type Read = ParsedDocument;

    async fn begin(_: &Store) -> Result<Self> {
        Ok(Self {
            documents: Vec::new(),
            rows: 0,
            types: NodeTypes::default(),
            graphs: KnownIds::graphs(),
            environments: KnownIds::environments(),
            configurations: Known::default(),
        })
    }

    fn add(&mut self, read: ParsedDocument) -> ParseSummary {
        let ParsedDocument { work, document } = read;
        let arrays = (
            ArrayForm::format_all(&document.forms),
            document.arrays_hash.clone(),
        );
        if work.known_arrays.contains(&arrays) {
            return ParseSummary::default();
        }
        let count = document.runtimes.len();
        let withheld = document.runtimes.iter().filter(|&&runtime| runtime == 0);
        let (bytes, unmeasured) = (document.array_bytes, withheld.count() as u64);
        let one = PendingDocument::new(document, &work.reading, &work.place);
        let about = DocumentAttributes {
            network: Some(work.place.network().to_owned()),
            collection: work.place.collection,
            split: work.place.split,
            graph_id: Some(one.graph_id),
            arrays: Some(arrays.0),
            arrays_hash: Some(arrays.1),
            ..DocumentAttributes::default()
        };
        let closed = SourceSegment {
            line_count: count as u64,
            records: count as u64,
            about,
            ..SourceSegment::for_document(
                NAME,
                work.reading,
                work.path,
                work.bytes,
                work.content_hash,
            )
        };
        self.rows += count;
        self.documents.push(one);
        ParseSummary {
            closed: vec![closed],
            bytes,
            unmeasured_records: unmeasured,
            ..ParseSummary::default()
        }
    }

    fn is_full(&self, files: usize) -> bool {
        self.rows >= GROUP_ROWS || files >= GROUP_FILES
    }

    async fn commit(&mut self, store: &Store, _: &mut [SourceSegment]) -> Result<CommitOutput> {
        let documents = std::mem::take(&mut self.documents);
        self.rows = 0;
        if documents.is_empty() {
            return Ok(CommitOutput::default());
        }
        let environment = environment_id(NAME, TARGET);
        self.environments
            .add(store, &[(environment, ())], |_| {
                environment_columns(environment)
            })
            .await?;
        let new_graphs = self.commit_graphs(store, &documents).await?;
        let new_configurations = self.commit_configurations(store, &documents).await?;
        let rows = self.record_batches(&documents, environment)?;
        self.configurations.trim(KNOWN_CONFIGURATIONS);
        Ok(CommitOutput {
            rows,
            new_graphs,
            new_configurations,
        })
    }

    fn clear(&mut self) {
        self.documents.clear();
        self.rows = 0;
    }
}

impl PendingDocuments {
    async fn commit_graphs(&mut self, store: &Store, documents: &[PendingDocument]) -> Result<u64> {
        let graphs: BTreeMap<i64, &PendingDocument> =
            documents.iter().map(|one| (one.graph_id, one)).collect();
        let types = graphs.values().flat_map(|one| &one.document.graph.types);
        let types: Vec<(NodeType, ())> = types.map(|one| (one.clone(), ())).collect();
        assign_numbers(&mut self.types, store, &types, |new| {
            Ok(node_type_columns(new))
        })
        .await?;
        let mut rows = Vec::with_capacity(graphs.len());
        for (id, one) in graphs {
            let types = one.document.graph.types.iter();
            let types = types.map(|one| self.types.number(one));
            let types: Option<Vec<i64>> = types.collect();
            let lost = || Error::damaged("node_types", "numbers were lost");
            let types = types.ok_or_else(lost)?;
            rows.push((id, (one.key.as_str(), types, &one.document.graph)));
        }
        let added = self.graphs.add(store, &rows, graph_columns).await?;
        Ok(added.len() as u64)
    }

    async fn commit_configurations(
        &mut self,
        store: &Store,
        documents: &[PendingDocument],
    ) -> Result<u64> {
        let mut rows: Vec<DocumentRow<'_>> = Vec::new();
        for one in documents {
            let programs = one.programs.iter().enumerate();
            rows.extend(programs.map(|(row, &program)| ((one.graph_id, program), (one, row))));
        }
        assign_numbers(&mut self.configurations, store, &rows, |new| {
            let mut rows = ConfigurationRows::default();
            let source = |(_, (_, (one, _))): &(i64, &DocumentRow<'_>)| one.source_id;
            for new in new.chunk_by(|one, next| source(one) == source(next)) {
                if let Some((_, (_, (one, _)))) = new.first() {
                    push_configurations(&mut rows, one, new)?;
                }
            }
            rows.finish()
        })
        .await
    }

    fn record_batches(
        &self,
        documents: &[PendingDocument],
        environment: i64,
    ) -> Result<Vec<TableRows>> {
        let table = schema::table("records")?;
        let mut batches = Vec::with_capacity(documents.len());
        for one in documents {
            let number = |&program: &ProgramHash| {
                let number = self.configurations.number(&(one.graph_id, program));
                number.ok_or_else(|| Error::damaged("records", "no configuration for a row"))
            };
            let numbers = one.programs.iter().map(number);
            let numbers: Vec<i64> = numbers.collect::<Result<_>>()?;
            batches.push(TableRows {
                table: "records",
                partition: Some((NAME, Arc::clone(&one.platform))),
                rows: file::batch(table, record_columns(one, environment, numbers))?,
            });
        }
        Ok(batches)
    }
}

/// Adds configurations of some rows of a document, with their numbers.
fn push_configurations<'a>(
    rows: &mut ConfigurationRows<'a>,
    one: &'a PendingDocument,
    new: &[(i64, &DocumentRow<'_>)],
) -> Result<()> {
    match &one.document.configurations {
        Configurations::Layout { layouts, params } => {
            let length = layouts.params_length();
            let new = new.iter().map(|&(number, &(_, (_, row)))| {
                let params = params.get(row * length..(row + 1) * length);
                (number, params.unwrap_or(&[]))
            });
            rows.push_fixed(one.graph_id, &layouts.text(), new);
        }
        Configurations::Tile(tiles) => {
            let mut scan = Scan::default();
            let steps: Vec<String> = tile_steps(tiles, one.source_id).collect();
            for &(number, &(_, (_, row))) in new {
                let Some(steps) = steps.get(row) else {
                    continue;
                };
                let wrong = |reason| Error::damaged("configurations", reason);
                sketch::scan(steps.as_bytes(), &mut scan).map_err(wrong)?;
                let mut params = Vec::with_capacity(scan.numbers.len());
                for &number in &scan.numbers {
                    varint::write_unsigned(number, &mut params);
                }
                let sketch = Sketch {
                    text: scan.sketch.clone(),
                    literal: false,
                };
                rows.push_open(
                    one.graph_id,
                    number,
                    &sketch,
                    Some(Cow::Owned(params)),
                    None,
                );
            }
        }
    }
    Ok(())
}
