//! Damage of the logs of all tables, and its repair.

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::Store;
use crate::log::{Log, LogDamage, Proof, Proofs};
use crate::tables::acknowledged::INGEST_LOG;
use tsql_error::{Error, Result};
use tsql_schema as schema;

impl Store {
    /// What is wrong with the files of each log, by table.
    pub async fn damage_of_logs(&self) -> Result<Vec<(&'static str, LogDamage)>> {
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

    /// The files that a last, cut entry of the ingest log has brought, as its data files name them: path, dataset and
    /// platform of each.
    pub async fn lost_sources(&self) -> Result<Vec<[String; 3]>> {
        let log = Log::new(self.location(), schema::table(INGEST_LOG)?)?;
        let mut found = Vec::new();
        for file in log.skipped_files(self.location()).await? {
            let object = Path::from(format!("{INGEST_LOG}/{file}"));
            let read = self.location().objects().get(&object).await;
            let bytes = read.map_err(Error::Storage)?.bytes().await;
            // It may never have been whole.
            found.extend(named_sources(bytes.map_err(Error::Storage)?).unwrap_or_default());
        }
        found.sort();
        Ok(found)
    }

    /// Repairs the log of each table; returns what was wrong, by table. Rows may be incomplete then: what was lost with
    /// them is removed before [`raise_logs`](Self::raise_logs).
    pub async fn repair_logs(&self) -> Result<Vec<(&'static str, String)>> {
        let proofs = self.all_proofs().await?;
        let mut done = Vec::new();
        for table in schema::tables()? {
            let _turn = self.turn(&table.name).await;
            let log = Log::new(self.location(), table)?;
            let proof: Option<&Proof> = proofs.get(&table.name);
            let repaired = log.repair(self.location(), proof).await?;
            done.extend(repaired.into_iter().map(|what| (table.name.as_str(), what)));
        }
        Ok(done)
    }

    /// Brings each table to the version that others prove, without any change.
    pub async fn raise_logs(&self) -> Result<()> {
        let proofs = self.all_proofs().await?;
        for table in schema::tables()? {
            if let Some(proof) = proofs.get(&table.name) {
                Log::new(self.location(), table)?.raise(proof).await?;
            }
        }
        Ok(())
    }

    /// What the entries of all tables, and tags, state of each other's versions.
    async fn all_proofs(&self) -> Result<Proofs> {
        let mut proofs = Proofs::default();
        for table in schema::tables()? {
            let log = Log::new(self.location(), table)?;
            log.add_proofs(&mut proofs).await?;
        }
        // Tags that cannot be read prove nothing.
        for tag in self.unproven().tags().await.unwrap_or_default() {
            for (table, version) in &tag.versions {
                proofs.add(table, *version, || format!("the tag `{}`", tag.name));
            }
        }
        Ok(proofs)
    }
}

/// Path, dataset and platform of the sources in a data file; `None` where it cannot be read.
fn named_sources(bytes: bytes::Bytes) -> Option<Vec<[String; 3]>> {
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
        for row in 0..batch.num_rows() {
            let text = |column: &arrow::array::ArrayRef| {
                let texts = column.as_string_view_opt()?;
                Some(texts.value(row).to_owned())
            };
            found.push([text(&paths)?, text(&datasets)?, text(&platforms)?]);
        }
    }
    Some(found)
}
