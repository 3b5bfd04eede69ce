//! What was read of logs and is in no commit yet: rows, and lines that are no records.

use tsql_formats::rows::Rows;

use super::super::commits::{Files, Written};
use super::group::Group;
use super::others::Others;
use crate::error::Result;
use crate::formats::lines::columns::Other;
use crate::formats::taking::Partition;
use crate::store::Store;

/// The tables of a log's own rows, in the order in which they are committed.
pub(super) const TABLES: [&str; 2] = ["records", "lines"];

/// What waits for a commit. A dry run makes none, and so nothing waits in one.
pub(super) struct Pending<'a> {
    group: Group<'a>,
    others: Others,
    written: Written<'a>,
    dry_run: bool,
}

impl<'a> Pending<'a> {
    pub(super) fn new(store: &'a Store, dry_run: bool) -> Self {
        Self {
            group: Group::new(store),
            others: Others::default(),
            written: Written::new(store),
            dry_run,
        }
    }

    /// Takes the records of a chunk, whose first line has this number.
    pub(super) async fn add(
        &mut self,
        rows: Box<Rows>,
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

    /// Takes lines of a source that are no records.
    pub(super) async fn keep(
        &mut self,
        source_id: i64,
        lines: impl IntoIterator<Item = Other>,
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

    /// There is enough for a commit.
    pub(super) fn is_full(&self) -> bool {
        self.group.is_full(&self.written)
    }

    /// Commits what records refer to; gives the files of these and of the other lines, for the last commit.
    pub(super) async fn finish(&mut self) -> Result<Files> {
        self.group.flush(&mut self.written).await?;
        self.others.write(&mut self.written).await?;
        self.written.finish(&TABLES).await
    }

    /// Graphs and configurations that the store did not have.
    pub(super) fn new_ones(&self) -> (u64, u64) {
        (self.group.new_graphs, self.group.new_configurations)
    }
}
