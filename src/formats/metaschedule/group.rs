//! Workloads on their way into the store.

use std::collections::BTreeMap;

use tsql_codecs::identity::{graph_id, text_id};
use tsql_formats::metaschedule::NAME;

use super::columns::WorkloadRows;
use super::parsed::{Read, undecoded};
use crate::dedupe::Identified;
use crate::error::Result;
use crate::formats::graphs::graph_columns;
use crate::formats::lines::columns::{Other, other_columns};
use crate::formats::taking::{Batch, Committed, Group, Told};
use crate::formats::texts::commit_texts;
use crate::ledger::Closed;
use crate::schema;
use crate::store::{Store, file};

/// Bytes of files that are committed together.
const GROUP_BYTES: u64 = 64 << 20;

/// Files that are not committed yet.
pub(crate) struct Gathered {
    /// Keys of graphs by their identifiers.
    graphs: BTreeMap<i64, String>,
    workloads: WorkloadRows,
    others: Vec<(i64, Other)>,
    /// Modules by their identifiers, with their hashes.
    modules: BTreeMap<i64, (String, Vec<u8>)>,
    bytes: u64,
    known_graphs: Identified,
    known_texts: Identified,
}

impl Group for Gathered {
    type Read = Read;

    async fn begin(_: &Store) -> Result<Self> {
        Ok(Self {
            graphs: BTreeMap::new(),
            workloads: WorkloadRows::default(),
            others: Vec::new(),
            modules: BTreeMap::new(),
            bytes: 0,
            known_graphs: Identified::graphs(),
            known_texts: Identified::texts(),
        })
    }

    fn take(&mut self, read: Read) -> Told {
        let source_id = read.closed.reading.source_id;
        let path = &read.closed.path;
        let rejects = read.others.iter().filter_map(|other| {
            let reason = other.reason.clone()?;
            Some((path.clone(), other.line, reason))
        });
        let rejects = rejects.collect();
        let remarks = undecoded(&read.lines).map(|reason| (path.clone(), reason));
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
        Told {
            bytes: read.bytes,
            closed: vec![read.closed],
            rejects,
            remarks: remarks.into_iter().collect(),
            ..Told::default()
        }
    }

    fn is_full(&self, _: usize) -> bool {
        self.bytes >= GROUP_BYTES
    }

    async fn commit(&mut self, store: &Store, _: &mut [Closed]) -> Result<Committed> {
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
            ("lines", other_columns(&std::mem::take(&mut self.others))),
        ];
        let rows = own.into_iter().map(|(table, columns)| {
            Ok(Batch {
                table,
                partition: None,
                rows: file::batch(schema::table(table)?, columns)?,
            })
        });
        Ok(Committed {
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
