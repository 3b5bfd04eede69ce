//! Commits `network_info` files.

use std::collections::BTreeMap;

use tsql_codecs::identity::graph_id;
use tsql_error::Result;
use tsql_formats::tenset;
use tsql_formats::tenset::networks::{NetworkContent, Task};
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::columns::{NetworkTasks, Relays, task_columns, task_graph_columns};
use super::parsed::ParsedFile;
use crate::dedupe::KnownIds;
use crate::formats::format_reader::{CommitBatch, CommitOutput, ParseSummary, TableRows};
use crate::formats::texts::commit_texts;
use crate::ingest_log::SourceSegment;

/// Bytes of files per commit.
const GROUP_BYTES: usize = 64 << 20;

/// Files that are not yet committed.
pub(crate) struct PendingFiles {
    tasks: BTreeMap<i64, Task>,
    network_tasks: NetworkTasks,
    relays: Relays,
    /// File contents by identifier, with their names.
    texts: BTreeMap<i64, (String, Vec<u8>)>,
    bytes: usize,
    known_graphs: KnownIds,
    known_tasks: KnownIds,
    known_texts: KnownIds,
}

impl CommitBatch for PendingFiles {
    type Read = ParsedFile;

    async fn begin(_: &Store) -> Result<Self> {
        Ok(Self {
            tasks: BTreeMap::new(),
            network_tasks: NetworkTasks::default(),
            relays: Relays::default(),
            texts: BTreeMap::new(),
            bytes: 0,
            known_graphs: KnownIds::graphs(),
            known_tasks: KnownIds::new("tasks", "graph_id"),
            known_texts: KnownIds::texts(),
        })
    }

    fn add(&mut self, read: ParsedFile) -> ParseSummary {
        let bytes = read.bytes.len();
        let reading = &read.closed.reading;
        match read.content {
            NetworkContent::Network(tasks) | NetworkContent::AllTasks(tasks) => {
                for task in tasks {
                    let graph = graph_id(tenset::NAME, &task.workload_key);
                    let network = read.network.as_ref();
                    self.network_tasks
                        .push(reading.source_id, network, graph, &task);
                    self.tasks.entry(graph).or_insert(task);
                }
            }
            NetworkContent::Relay(relay) => {
                let network = read.network.as_ref();
                self.relays.push(reading.source_id, network, &relay);
            }
        }
        let name = reading.name.clone();
        self.texts.entry(read.text_id).or_insert((name, read.bytes));
        self.bytes += bytes;
        ParseSummary {
            closed: vec![read.closed],
            bytes: bytes as u64,
            ..ParseSummary::default()
        }
    }

    fn is_full(&self, _: usize) -> bool {
        self.bytes >= GROUP_BYTES
    }

    async fn commit(&mut self, store: &Store, _: &mut [SourceSegment]) -> Result<CommitOutput> {
        let tasks = std::mem::take(&mut self.tasks);
        let texts = std::mem::take(&mut self.texts);
        self.bytes = 0;
        let tasks: Vec<(i64, Task)> = tasks.into_iter().collect();
        let new_graphs = if tasks.is_empty() {
            0
        } else {
            let new = self
                .known_graphs
                .add(store, &tasks, task_graph_columns)
                .await?;
            self.known_tasks.add(store, &tasks, task_columns).await?;
            new.len() as u64
        };
        let texts = texts.iter();
        let texts = texts.map(|(&id, (name, text))| (id, (name.clone(), text.as_slice())));
        commit_texts(&mut self.known_texts, store, texts.collect()).await?;
        let own = [
            (
                "network_tasks",
                std::mem::take(&mut self.network_tasks).finish(),
            ),
            ("relays", std::mem::take(&mut self.relays).finish()),
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
            new_graphs,
            new_configurations: 0,
        })
    }

    fn clear(&mut self) {
        self.tasks.clear();
        self.network_tasks = NetworkTasks::default();
        self.relays = Relays::default();
        self.texts.clear();
        self.bytes = 0;
    }
}
