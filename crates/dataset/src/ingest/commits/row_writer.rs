//! Buffers rows of files and writes them to data files that no commit refers to yet.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use tsql_adapters::formats::format_reader::{Partition, TableRows};
use tsql_error::Result;
use tsql_schema as schema;
use tsql_store::file::{DataFile, Effort};
use tsql_store::{Store, file};

use super::TableFiles;

/// Rows per data file.
const FILE_ROWS: usize = 1 << 20;

/// In-memory bytes of the rows per data file.
const FILE_BYTES: usize = 256 << 20;

/// A table and a partition of it.
type TablePartition = (&'static str, Option<Partition>);

/// Rows that are not yet committed.
pub(in crate::ingest) struct RowWriter<'a> {
    store: &'a Store,
    batches: BTreeMap<TablePartition, Vec<RecordBatch>>,
    files: BTreeMap<&'static str, Vec<DataFile>>,
}

impl<'a> RowWriter<'a> {
    pub(in crate::ingest) fn new(store: &'a Store) -> Self {
        Self {
            store,
            batches: BTreeMap::new(),
            files: BTreeMap::new(),
        }
    }

    /// Adds rows.
    pub(in crate::ingest) fn add(&mut self, batch: TableRows) {
        if batch.rows.num_rows() > 0 {
            let batches = self
                .batches
                .entry((batch.table, batch.partition))
                .or_default();
            batches.push(batch.rows);
        }
    }

    /// Number of buffered rows.
    pub(in crate::ingest) fn row_count(&self) -> usize {
        let batches = self.batches.values().flatten();
        batches.map(RecordBatch::num_rows).sum()
    }

    /// Writes the partitions with enough rows for a file.
    pub(in crate::ingest) async fn write_full(&mut self) -> Result<()> {
        let full = |batches: &Vec<RecordBatch>| {
            let bytes = batches.iter().map(RecordBatch::get_array_memory_size);
            batches.iter().map(RecordBatch::num_rows).sum::<usize>() >= FILE_ROWS
                || bytes.sum::<usize>() >= FILE_BYTES
        };
        let parts = self.batches.iter().filter(|(_, batches)| full(batches));
        let parts: Vec<TablePartition> = parts.map(|(part, _)| part.clone()).collect();
        self.write_partitions(parts).await
    }

    /// Writes all rows of a table.
    pub(in crate::ingest) async fn write_table(&mut self, table: &str) -> Result<()> {
        let parts = self.batches.keys().filter(|(of, _)| *of == table);
        let parts = parts.cloned().collect();
        self.write_partitions(parts).await
    }

    async fn write_partitions(&mut self, parts: Vec<TablePartition>) -> Result<()> {
        for part in parts {
            let batches = self.batches.remove(&part).unwrap_or_default();
            let (name, partition) = part;
            let table = schema::table(name)?;
            let partition = partition.map_or_else(Vec::new, |(dataset, platform)| {
                vec![
                    ("dataset".to_owned(), Some(dataset.to_owned())),
                    ("platform".to_owned(), Some(platform.to_string())),
                ]
            });
            let location = self.store.location();
            let file = file::write(location, table, &partition, &batches, Effort::Ingest).await?;
            self.files.entry(name).or_default().push(file);
        }
        Ok(())
    }

    /// Writes the remaining rows of these tables. Returns the data files in the same order.
    pub(in crate::ingest) async fn finish(
        &mut self,
        tables: &[&'static str],
    ) -> Result<TableFiles> {
        let mut files = TableFiles::new();
        for &table in tables {
            self.write_table(table).await?;
            files.push((table, self.files.remove(table).unwrap_or_default()));
        }
        Ok(files)
    }
}
