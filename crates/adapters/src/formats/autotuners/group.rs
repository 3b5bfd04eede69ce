//! Commits autotuner files.

use std::collections::BTreeMap;

use tsql_error::Result;
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::parsed::ParsedFile;
use super::spaces::{self, SpaceRow};
use crate::dedupe::KnownIds;
use crate::formats::format_reader::{CommitBatch, CommitOutput, ParseSummary, TableRows};
use crate::formats::lines::columns::{NonRecordLine, non_record_columns};
use crate::formats::record_group::RecordGroup;
use crate::formats::texts::commit_texts;
use crate::ingest_log::SourceSegment;

/// Bytes of files per commit; checked at the end of a file.
const GROUP_BYTES: usize = 64 << 20;

/// Files per commit.
const GROUP_FILES: usize = 1 << 10;

/// Autotuner files that are not yet committed.
pub(crate) struct PendingFiles {
    records: RecordGroup,
    rejected: Vec<(i64, NonRecordLine)>,
    spaces: Vec<(i64, i64, SpaceRow)>,
    /// File contents by identifier, with their names.
    texts: BTreeMap<i64, (String, Vec<u8>)>,
    bytes: usize,
    known_texts: KnownIds,
}

impl CommitBatch for PendingFiles {
    type Read = ParsedFile;

    async fn begin(_: &Store) -> Result<Self> {
        Ok(Self {
            records: RecordGroup::default(),
            rejected: Vec::new(),
            spaces: Vec::new(),
            texts: BTreeMap::new(),
            bytes: 0,
            known_texts: KnownIds::texts(),
        })
    }

    fn add(&mut self, read: ParsedFile) -> ParseSummary {
        if let Some(reading) = read.summary.closed.first().map(|closed| &closed.reading) {
            let source_id = reading.source_id;
            for (platform, rows) in read.records {
                self.records
                    .add(rows, (read.dataset, platform), source_id, 1);
            }
            let rejected = read.rejected.into_iter();
            self.rejected.extend(rejected.map(|line| (source_id, line)));
            let space = (1_i64..).zip(read.space);
            self.spaces
                .extend(space.map(|(line, row)| (source_id, line, row)));
            self.bytes += read.bytes.len();
            let name = reading.name.clone();
            self.texts.entry(read.text_id).or_insert((name, read.bytes));
        }
        read.summary
    }

    fn is_full(&self, files: usize) -> bool {
        self.records.is_full() || self.bytes >= GROUP_BYTES || files >= GROUP_FILES
    }

    async fn commit(&mut self, store: &Store, _: &mut [SourceSegment]) -> Result<CommitOutput> {
        let before = (self.records.new_graphs, self.records.new_configurations);
        let mut rows = self.records.take_rows(store).await?;
        let texts = std::mem::take(&mut self.texts);
        let texts = texts.iter();
        let texts = texts.map(|(&id, (name, text))| (id, (name.clone(), text.as_slice())));
        commit_texts(&mut self.known_texts, store, texts.collect()).await?;
        let rejected = std::mem::take(&mut self.rejected);
        let found = std::mem::take(&mut self.spaces);
        self.bytes = 0;
        for (table, columns) in [
            ("lines", non_record_columns(&rejected)),
            ("spaces", spaces::columns(&found)),
        ] {
            rows.push(TableRows {
                table,
                partition: None,
                rows: file::batch(schema::table(table)?, columns)?,
            });
        }
        Ok(CommitOutput {
            rows,
            new_graphs: self.records.new_graphs - before.0,
            new_configurations: self.records.new_configurations - before.1,
        })
    }

    fn clear(&mut self) {
        self.records.clear();
        self.rejected.clear();
        self.spaces.clear();
        self.texts.clear();
        self.bytes = 0;
    }
}
