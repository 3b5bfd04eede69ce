//! Buffers the rows of whole files, and commits all of them or none.
//!
//! ```text
//! rows of chunks ─▶ graphs, environments ─▶ configurations ─▶ batches of records     (`RecordGroup`)
//! at a file's end ─▶ records ─▶ lines ─▶ sources
//! ```
//!
//! A crash between two of these commits leaves rows that nothing refers to, or records whose file is not
//! in the ingest log. The next run over the same file finds the former by their content and replaces the
//! latter (see `orphans`).

use tsql_adapters::formats::format_reader::Partition;
use tsql_adapters::formats::record_group::RecordGroup;
use tsql_error::Result;
use tsql_formats::rows::LogRows;
use tsql_store::Store;

use super::super::commits::RowWriter;

/// Records per commit; checked at the end of a file.
const GROUP_ROWS: usize = 1 << 18;

/// Rows that are not yet committed.
pub(super) struct PendingRecords<'a> {
    store: &'a Store,
    records: RecordGroup,
}

impl<'a> PendingRecords<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            records: RecordGroup::default(),
        }
    }

    /// Number of graphs and of configurations that this run has added first.
    pub(super) fn new_counts(&self) -> (u64, u64) {
        (self.records.new_graphs, self.records.new_configurations)
    }

    /// Adds the rows of a chunk.
    pub(super) async fn add(
        &mut self,
        rows: Box<LogRows>,
        partition: Partition,
        source_id: i64,
        first_line: u64,
        written: &mut RowWriter<'_>,
    ) -> Result<()> {
        self.records.add(rows, partition, source_id, first_line);
        if self.records.is_full() {
            self.flush(written).await?;
        }
        Ok(())
    }

    /// Returns whether there is enough for a commit.
    pub(super) fn is_full(&self, written: &RowWriter<'_>) -> bool {
        self.records.row_count() + written.row_count() >= GROUP_ROWS
    }

    /// Looks up or assigns the identifiers of all rows, and passes the rows on as batches.
    pub(super) async fn flush(&mut self, written: &mut RowWriter<'_>) -> Result<()> {
        for rows in self.records.take_rows(self.store).await? {
            written.add(rows);
        }
        written.write_full().await
    }
}
