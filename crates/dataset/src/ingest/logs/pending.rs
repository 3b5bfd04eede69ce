//! Rows of logs, and other lines, that are not yet committed.

use tsql_adapters::formats::format_reader::Partition;
use tsql_error::Result;
use tsql_formats::rows::LogRows;
use tsql_store::Store;

use super::super::commits::{RowWriter, TableFiles};
use super::group::PendingRecords;
use super::others::NonRecordLines;

pub(crate) use tsql_adapters::formats::lines::columns::NonRecordLine;

/// Tables with rows of logs, in commit order.
pub(super) const TABLES: [&str; 2] = ["records", "lines"];

/// Rows that wait for a commit. A dry run buffers nothing.
pub(super) struct Pending<'a> {
    group: PendingRecords<'a>,
    others: NonRecordLines,
    written: RowWriter<'a>,
    dry_run: bool,
}

impl<'a> Pending<'a> {
    pub(super) fn new(store: &'a Store, dry_run: bool) -> Self {
        Self {
            group: PendingRecords::new(store),
            others: NonRecordLines::default(),
            written: RowWriter::new(store),
            dry_run,
        }
    }

    /// Adds the records of a chunk. `first_line` is the number of its first line.
    pub(super) async fn add(
        &mut self,
        rows: Box<LogRows>,
        partition: Partition,
        source_id: i64,
        first_line: u64,
    ) -> Result<()> {
        if self.dry_run || rows.records.is_empty() {
            return Ok(());
        }
        let written = &mut self.written;
        let added = self
            .group
            .add(rows, partition, source_id, first_line, written);
        added.await
    }

    /// Adds comments and rejected lines of a source.
    pub(super) async fn add_non_records(
        &mut self,
        source_id: i64,
        lines: impl IntoIterator<Item = NonRecordLine>,
    ) -> Result<()> {
        if self.dry_run {
            return Ok(());
        }
        for line in lines {
            self.others.push(source_id, line);
        }
        if self.others.is_full() {
            self.others.write(&mut self.written).await?;
        }
        Ok(())
    }

    /// Returns whether there is enough for a commit.
    pub(super) fn is_full(&self) -> bool {
        self.group.is_full(&self.written)
    }

    /// Commits what the records refer to. Returns the data files of records and other lines, for the final
    /// commit.
    pub(super) async fn finish(&mut self) -> Result<TableFiles> {
        self.group.flush(&mut self.written).await?;
        self.others.write(&mut self.written).await?;
        self.written.finish(&TABLES).await
    }

    /// Number of graphs and configurations that the store did not have.
    pub(super) fn new_counts(&self) -> (u64, u64) {
        self.group.new_counts()
    }
}
