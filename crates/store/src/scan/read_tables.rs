//! Reading of stored rows by other modules.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::physical_plan::{FileScanConfig, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext, col};

use crate::files::data_file::DataFile;
use crate::{Snapshot, Store, StoredTable};
use tsql_error::{Error, Result};
use tsql_schema::{self as schema, Table};

/// Maximum number of `IN (...)` values that are used for pruning of files and pages: the tasks of some networks.
pub const LISTED: usize = 512;

/// URL prefix under which engines find the objects of stores.
const URL: &str = "tsql://store-";

/// Returns whether this is the URL of a store's objects.
pub fn is_store_url(url: &ObjectStoreUrl) -> bool {
    url.as_str().starts_with(URL)
}

/// Returns the file scan of a plan's leaf, if it reads a store.
pub fn scan_of_store(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
    let scan = source.downcast_ref::<FileScanConfig>()?;
    let is_parquet = scan.file_source().is::<ParquetSource>();
    (is_parquet && is_store_url(&scan.object_store_url)).then_some(scan)
}

impl Store {
    /// Returns the URL under which engines find the objects of this store.
    pub fn object_store_url(&self) -> Result<ObjectStoreUrl> {
        ObjectStoreUrl::parse(format!("{URL}{}", self.id)).map_err(Error::Query)
    }

    /// Returns the table provider of `files`.
    pub fn stored_table(&self, table: &'static Table, files: &[DataFile]) -> Result<StoredTable> {
        let sizes = files.iter().filter_map(|file| file.size_in(&table.name));
        self.location().cache_sizes(sizes);
        StoredTable::new(table, self.object_store_url()?, files).map_err(Error::Query)
    }

    /// Returns a data frame over the stored columns of a table at `snapshot`.
    pub fn frame(&self, table: &str, snapshot: &Snapshot) -> Result<DataFrame> {
        let url = self.object_store_url()?;
        let config =
            SessionConfig::new().set_usize("datafusion.execution.parquet.max_in_list_size", LISTED);
        let context = SessionContext::new_with_config(config);
        context.register_object_store(url.as_ref(), Arc::clone(self.location().objects()));
        let table = self.stored_table(schema::table(table)?, snapshot.files())?;
        context.read_table(Arc::new(table)).map_err(Error::Query)
    }

    /// Returns the number of rows of a table, from its log.
    pub async fn row_count(&self, table: &str) -> Result<u64> {
        let snapshot = self.snapshot(table).await?;
        let files = snapshot.iter().flat_map(|snapshot| snapshot.files().iter());
        Ok(files.map(|file| file.stats.num_records).sum())
    }

    /// Reads `columns` of the rows of a table that match `filter`.
    pub async fn read(
        &self,
        table: &str,
        snapshot: &Snapshot,
        columns: &[&str],
        filter: Option<Expr>,
    ) -> Result<Vec<RecordBatch>> {
        let mut frame = self.frame(table, snapshot)?;
        if let Some(filter) = filter {
            frame = frame.filter(filter).map_err(Error::Query)?;
        }
        let columns: Vec<Expr> = columns.iter().map(|name| col(*name)).collect();
        let frame = frame.select(columns).map_err(Error::Query)?;
        frame.collect().await.map_err(Error::Query)
    }
}
