//! Damage of all table logs, and its repair.

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::Store;
use crate::log::{Log, LogDamage, Proof, Proofs};
use crate::tables::hide_unacknowledged::INGEST_LOG;
use tsql_error::{Error, Result};
use tsql_schema as schema;

impl Store {
    /// Returns the damage of each log, by table.
    pub async fn log_damage(&self) -> Result<Vec<(&'static str, LogDamage)>> {
        if self.at.is_some() {
            return Ok(Vec::new());
        }
        let proofs = self.all_proofs().await?;
        let mut found = Vec::new();
        for table in schema::tables()? {
            let log = Log::new(self.location(), table)?;
            let damage = log.damage(self.location(), proofs.get(&table.name)).await?;
            found.extend(damage.into_iter().map(|one| (table.name.as_str(), one)));
        }
        Ok(found)
    }

    /// Returns the sources in data files of the ingest log that no entry lists. Its log must be readable.
    pub async fn unlisted_sources(&self) -> Result<Vec<UnlistedSource>> {
        let log = Log::new(self.location(), schema::table(INGEST_LOG)?)?;
        let mut found = Vec::new();
        for file in log.unlisted_files(self.location()).await? {
            let object = Path::from(format!("{INGEST_LOG}/{file}"));
            let read = self.location().objects().get(&object).await;
            let bytes = read.map_err(Error::Storage)?.bytes().await;
            // The file may never have been complete.
            found.extend(sources_in_data_file(bytes.map_err(Error::Storage)?).unwrap_or_default());
        }
        found.sort();
        Ok(found)
    }

    /// Repairs the log of each table, and returns the damage by table. Rows may be incomplete afterwards. Remove them
    /// before [`raise_logs_to_proofs`](Self::raise_logs_to_proofs).
    pub async fn repair_logs(&self) -> Result<Vec<(&'static str, String)>> {
        let proofs = self.all_proofs().await?;
        let mut done = Vec::new();
        for table in schema::tables()? {
            let _turn = self.wait_for_turn(&table.name).await;
            let log = Log::new(self.location(), table)?;
            let proof: Option<&Proof> = proofs.get(&table.name);
            let repaired = log.repair(self.location(), proof).await?;
            done.extend(repaired.into_iter().map(|what| (table.name.as_str(), what)));
        }
        Ok(done)
    }

    /// Raises each table to its proven version by empty commits.
    pub async fn raise_logs_to_proofs(&self) -> Result<()> {
        let proofs = self.all_proofs().await?;
        for table in schema::tables()? {
            if let Some(proof) = proofs.get(&table.name) {
                Log::new(self.location(), table)?
                    .raise_to_proof(proof)
                    .await?;
            }
        }
        Ok(())
    }

    /// Collects the table versions that entries of all tables, and tags, state.
    async fn all_proofs(&self) -> Result<Proofs> {
        let mut proofs = Proofs::default();
        for table in schema::tables()? {
            let log = Log::new(self.location(), table)?;
            log.add_proofs(&mut proofs).await?;
        }
        // Unreadable tags prove nothing.
        for tag in self.without_proofs().tags().await.unwrap_or_default() {
            for (table, version) in &tag.versions {
                proofs.add(table, *version, || format!("the tag `{}`", tag.name));
            }
        }
        Ok(proofs)
    }
}

/// A source in a data file of the ingest log that no log entry lists: its entry is lost, or was never written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnlistedSource {
    /// Path of the ingested file.
    pub path: String,
    /// Its dataset.
    pub dataset: String,
    /// Its platform.
    pub platform: String,
    /// Hash of dataset, platform and name.
    pub source_id: i64,
}

/// Returns the sources in a data file. `None` if it cannot be read.
fn sources_in_data_file(bytes: bytes::Bytes) -> Option<Vec<UnlistedSource>> {
    let rows = ParquetRecordBatchReaderBuilder::try_new(bytes).ok()?;
    let mut found = Vec::new();
    for batch in rows.build().ok()? {
        let batch = batch.ok()?;
        let texts = ["path", "dataset", "platform"].map(|name| {
            let column = batch.column_by_name(name)?;
            cast(column, &DataType::Utf8View).ok()
        });
        let [Some(paths), Some(datasets), Some(platforms)] = texts else {
            return None;
        };
        let ids = batch.column_by_name("source_id")?;
        let ids = ids.as_primitive_opt::<Int64Type>()?;
        for row in 0..batch.num_rows() {
            let text = |column: &arrow::array::ArrayRef| {
                let texts = column.as_string_view_opt()?;
                Some(texts.value(row).to_owned())
            };
            found.push(UnlistedSource {
                path: text(&paths)?,
                dataset: text(&datasets)?,
                platform: text(&platforms)?,
                source_id: ids.value(row),
            });
        }
    }
    Some(found)
}
