//! Commits workloads.

use std::collections::BTreeMap;

use tsql_codecs::identity::{graph_id, text_id};
use tsql_error::Result;
use tsql_formats::metaschedule::NAME;
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::columns::WorkloadRows;
use super::parsed::{ParsedFile, describe_undecoded};
use crate::dedupe::KnownIds;
use crate::formats::format_reader::{CommitBatch, CommitOutput, ParseSummary, TableRows};
use crate::formats::graphs::graph_columns;
use crate::formats::lines::columns::{NonRecordLine, non_record_columns};
use crate::formats::texts::commit_texts;
use crate::ingest_log::SourceSegment;

/// Bytes of files per commit.
const GROUP_BYTES: u64 = 64 << 20;

/// Files that are not yet committed.
pub(crate) struct PendingWorkloads {
    /// Keys of graphs, by identifier.
    graphs: BTreeMap<i64, String>,
    workloads: WorkloadRows,
    others: Vec<(i64, NonRecordLine)>,
    /// Modules by identifier, with their hashes.
    modules: BTreeMap<i64, (String, Vec<u8>)>,
    bytes: u64,
    known_graphs: KnownIds,
    known_texts: KnownIds,
}

impl CommitBatch for PendingWorkloads {
    type Read = ParsedFile;

    async fn begin(_: &Store) -> Result<Self> {
        Ok(Self {
            graphs: BTreeMap::new(),
            workloads: WorkloadRows::default(),
            others: Vec::new(),
            modules: BTreeMap::new(),
            bytes: 0,
            known_graphs: KnownIds::graphs(),
            known_texts: KnownIds::texts(),
        })
    }

    fn add(&mut self, read: ParsedFile) -> ParseSummary {
        let source_id = read.closed.reading.source_id;
        let path = &read.closed.path;
        let rejects = read.others.iter().filter_map(|other| {
            let reason = other.reason.clone()?;
            Some((path.clone(), other.line, reason))
        });
        let rejects = rejects.collect();
        let remarks = describe_undecoded(&read.lines).map(|reason| (path.clone(), reason));
        for line in read.lines {
            let key = line.workload.key();
            let graph = key.as_ref().map(|key| graph_id(NAME, key));
            self.graphs.extend(graph.zip(key));
            let module = text_id(&line.workload.json);
            self.workloads
                .push(source_id, &read.folder, graph, module, &line);
            let hash = line.workload.hash.to_string();
            let json = line.workload.json;
            self.modules.entry(module).or_insert((hash, json));
        }
        let others = read.others.into_iter();
        self.others.extend(others.map(|other| (source_id, other)));
        self.bytes += read.bytes;
        ParseSummary {
            bytes: read.bytes,
            closed: vec![read.closed],
            rejects,
            remarks: remarks.into_iter().collect(),
            ..ParseSummary::default()
        }
    }

    fn is_full(&self, _: usize) -> bool {
        self.bytes >= GROUP_BYTES
    }

    async fn commit(&mut self, store: &Store, _: &mut [SourceSegment]) -> Result<CommitOutput> {
        let graphs: Vec<(i64, String)> = std::mem::take(&mut self.graphs).into_iter().collect();
        let modules = std::mem::take(&mut self.modules);
        self.bytes = 0;
        let columns = |new: &[&(i64, String)]| {
            let keys = new.iter().map(|(id, key)| (*id, key.as_str()));
            graph_columns(keys.map(|(id, key)| (id, (NAME, key))))
        };
        let new = self.known_graphs.add(store, &graphs, columns).await?;
        let texts = modules.iter();
        let texts = texts.map(|(&id, (hash, json))| (id, (hash.clone(), json.as_slice())));
        commit_texts(&mut self.known_texts, store, texts.collect()).await?;
        let own = [
            ("workloads", std::mem::take(&mut self.workloads).finish()),
            (
                "lines",
                non_record_columns(&std::mem::take(&mut self.others)),
            ),
        ];
        let rows = own.into_iter().map(|(table, columns)| {
            Ok(TableRows {
                table,
                partition: None,
                rows: file::batch(schema::table(table)?, columns)?,
            })
        });
        Ok(CommitOutput {
            rows: rows.collect::<Result<_>>()?,
            new_graphs: new.len() as u64,
            new_configurations: 0,
        })
    }

    fn clear(&mut self) {
        self.graphs.clear();
        self.workloads = WorkloadRows::default();
        self.others.clear();
        self.modules.clear();
        self.bytes = 0;
    }
}
