//! Upkeep: `optimize` makes few, large, well compressed files of many small ones.
//!
//! The rows stay the same, so readers and time travel are not disturbed; the old files go when
//! `vacuum` says so.

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::prelude::{col, lit};
use futures::StreamExt as _;

use crate::error::{Error, Result};
use crate::ingest::tables::ConfigurationRows;
use crate::reader::tenset::Sketch;
use crate::schema::{self, Table};
use crate::sketch::{self, Scan};
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, Snapshot, Store};
use crate::{column, layout, varint};

/// Rows of an optimized file: 30 to 60 MB of records.
const FILE_ROWS: usize = 1 << 21;

/// What an optimization did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Optimized {
    /// Files replaced.
    pub files_before: u64,
    /// Files that took their place.
    pub files_after: u64,
    /// Bytes of the former.
    pub bytes_before: u64,
    /// Bytes of the latter.
    pub bytes_after: u64,
}

impl Store {
    /// Rewrites the files of all tables: sorted, merged, compressed as well as zstd can. Files
    /// that are so already are left alone.
    ///
    /// # Errors
    /// Failures of the storage; the store is as before then.
    pub async fn optimize(&self) -> Result<Optimized> {
        let mut total = Optimized::default();
        for table in schema::tables()? {
            let Some(snapshot) = self.snapshot(&table.name).await? else {
                continue;
            };
            let mut partitions: Vec<_> = snapshot
                .files()
                .iter()
                .map(|file| file.partition.clone())
                .collect();
            partitions.sort();
            partitions.dedup();
            for partition in partitions {
                let old = snapshot
                    .files()
                    .iter()
                    .filter(|file| file.partition == partition);
                let old: Vec<DataFile> = old.cloned().collect();
                if !is_done(&old) {
                    self.rewrite(table, &snapshot, old, &mut total).await?;
                }
            }
        }
        Ok(total)
    }

    async fn rewrite(
        &self,
        table: &'static Table,
        snapshot: &Snapshot,
        old: Vec<DataFile>,
        total: &mut Optimized,
    ) -> Result<()> {
        let partition = old
            .first()
            .map(|file| file.partition.clone())
            .unwrap_or_default();
        let mut frame = self.frame(&table.name, snapshot)?;
        for (name, value) in &partition {
            let filter = match value {
                Some(value) => col(name).eq(lit(value.as_str())),
                None => col(name).is_null(),
            };
            frame = frame.filter(filter).map_err(Error::Query)?;
        }
        let columns = table.file_schema();
        let columns: Vec<_> = columns
            .fields()
            .iter()
            .map(|field| col(field.name()))
            .collect();
        let order = table
            .sort
            .iter()
            .map(|name| col(name).sort(true, true))
            .collect();
        let frame = frame
            .select(columns)
            .map_err(Error::Query)?
            .sort(order)
            .map_err(Error::Query)?;
        let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
        let (mut new, mut held, mut held_rows) = (Vec::new(), Vec::new(), 0);
        while let Some(batch) = rows.next().await {
            let batch = stored(table, &batch.map_err(Error::Query)?)?;
            held_rows += batch.num_rows();
            held.push(batch);
            if held_rows >= FILE_ROWS {
                new.push(
                    self.write(table, &partition, std::mem::take(&mut held))
                        .await?,
                );
                held_rows = 0;
            }
        }
        if held_rows > 0 {
            new.push(self.write(table, &partition, held).await?);
        }
        total.files_before += old.len() as u64;
        total.files_after += new.len() as u64;
        total.bytes_before += old.iter().map(|file| file.size_bytes).sum::<u64>();
        total.bytes_after += new.iter().map(|file| file.size_bytes).sum::<u64>();
        let change = Change {
            add: new,
            remove: old,
            rewrite: true,
            ..Change::default()
        };
        self.commit(&table.name, "optimize", async |snapshot: &Snapshot| {
            let there =
                |file: &DataFile| snapshot.files().iter().any(|found| found.path == file.path);
            if !change.remove.iter().all(there) {
                let reason =
                    "another run has rewritten the same files\nhint: nothing is lost, run it again";
                return Err(Error::Usage(format!("optimize {}: {reason}", table.name)));
            }
            Ok(Some(change.clone()))
        })
        .await
    }

    async fn write(
        &self,
        table: &Table,
        partition: &[(String, Option<String>)],
        batches: Vec<RecordBatch>,
    ) -> Result<DataFile> {
        let batches = if table.name == "configurations" {
            vec![respecialised(&batches)?]
        } else {
            batches
        };
        file::write(
            self.location(),
            table,
            partition,
            &batches,
            Effort::Optimize,
        )
        .await
    }
}

/// One file, or none that could be merged with another, all written by `optimize`.
fn is_done(files: &[DataFile]) -> bool {
    let large = |file: &&DataFile| file.stats.num_records >= FILE_ROWS as u64;
    files.iter().all(|file| file.is_optimized())
        && files.iter().filter(|file| !large(file)).count() <= 1
}

/// The batch in the types of the file.
fn stored(table: &Table, batch: &RecordBatch) -> Result<RecordBatch> {
    let wrong = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    let schema = table.row_schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| arrow::compute::cast(column, field.data_type()));
    let columns = columns
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(wrong)?;
    RecordBatch::try_new(schema, columns).map_err(wrong)
}

/// Configurations with sketches made anew over all of them: what an append saw of a graph is less
/// than what is known of it by now.
fn respecialised(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let table = schema::table("configurations")?;
    let mut rows = ConfigurationRows::default();
    let mut scan = Scan::default();
    let mut layouts: Vec<Members> = Vec::new();
    for batch in batches {
        let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
        let numbers = column::numbers::<Int64Type>(batch, "config_id")?;
        let sketches = column::text(batch, "sketch")?;
        let params = column::bytes(batch, "params")?;
        for row in 0..batch.num_rows() {
            let (sketch, own) = (sketches.value(row), column::bytes_at(params, row));
            if layout::is_layout(sketch) {
                let member = (numbers.value(row), own.unwrap_or_default().to_vec());
                let graph = graphs.value(row);
                match layouts.last_mut() {
                    Some((last, text, members)) if *last == graph && text == sketch => {
                        members.push(member);
                    }
                    _ => layouts.push((graph, sketch.to_owned(), vec![member])),
                }
                continue;
            }
            let (sketch, packed) = reopened(sketch, own, &mut scan)?;
            rows.push_open(
                graphs.value(row),
                numbers.value(row),
                &sketch,
                packed.as_deref(),
            );
        }
    }
    for (graph, sketch, members) in layouts {
        let members = members.iter();
        let members = members.map(|(number, params)| (*number, params.as_slice()));
        rows.push_fixed(graph, &sketch, members);
    }
    file::batch(table, rows.finish()?)
}

/// Configurations of a graph that have the same layouts: numbers and codes.
type Members = (i64, String, Vec<(i64, Vec<u8>)>);

/// The program's sketch with all holes open, and its packed numbers.
fn reopened(
    text: &str,
    params: Option<&[u8]>,
    scan: &mut Scan,
) -> Result<(Sketch, Option<Vec<u8>>)> {
    if params.is_none() {
        return Ok((
            Sketch {
                text: text.as_bytes().to_vec(),
                literal: true,
            },
            None,
        ));
    }
    let mut steps = Vec::new();
    let filled = sketch::fill(text.as_bytes(), params, &mut steps);
    if !filled || sketch::scan(&steps, scan).is_err() {
        return Err(Error::damaged(
            "configurations",
            "parameters that do not fit their sketch",
        ));
    }
    let mut packed = Vec::with_capacity(scan.numbers.len());
    scan.numbers
        .iter()
        .for_each(|&number| varint::write_unsigned(number, &mut packed));
    Ok((
        Sketch {
            text: scan.sketch.clone(),
            literal: false,
        },
        Some(packed),
    ))
}
