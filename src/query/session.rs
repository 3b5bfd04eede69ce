//! The session: what SQL sees of a store.

use std::sync::Arc;

use datafusion::catalog::MemorySchemaProvider;
use datafusion::catalog::SchemaProvider as _;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use super::functions;
use crate::error::{Error, Result};
use crate::schema;
use crate::store::{Log, Store, StoredTable};

impl Store {
    /// A DataFusion session over the store as it is now: the tables under their names, their
    /// stored columns as `stored.<table>`, the views, and tsql's functions. A path is a table too:
    /// `FROM 'predictions.parquet'`.
    ///
    /// All tables are read at the versions that they have when this is called; later commits do
    /// not show.
    ///
    /// # Errors
    /// [`Error::TooNew`] for a table of a newer tsql, and failures of the storage.
    pub async fn session(&self) -> Result<SessionContext> {
        let context = engine()?;
        let url = self.object_store_url()?;
        context.register_object_store(url.as_ref(), Arc::clone(self.location().objects()));
        let stored = MemorySchemaProvider::new();
        for table in schema::tables()?.iter().rev() {
            let snapshot = Log::new(self.location(), table)?.snapshot().await?;
            let files = snapshot
                .as_ref()
                .map(|snapshot| snapshot.files().as_slice());
            let provider = StoredTable::new(table, url.clone(), files.unwrap_or_default());
            let provider = Arc::new(provider.map_err(Error::Query)?);
            stored
                .register_table(table.name.clone(), provider)
                .map_err(Error::Query)?;
        }
        let catalog = context
            .catalog("tsql")
            .ok_or_else(|| Error::Usage("no catalog".to_owned()))?;
        catalog
            .register_schema("stored", Arc::new(stored))
            .map_err(Error::Query)?;
        for table in schema::tables()? {
            view(&context, &table.name, &table.view_sql()).await?;
        }
        for extra in schema::views()? {
            view(&context, &extra.name, &extra.sql).await?;
        }
        Ok(context)
    }
}

async fn view(context: &SessionContext, name: &str, sql: &str) -> Result<()> {
    let plan = context
        .sql(sql)
        .await
        .map_err(Error::Query)?
        .into_optimized_plan();
    let plan = plan.map_err(Error::Query)?;
    let view = ViewTable::new(plan, Some(sql.to_owned()));
    context
        .register_table(name, Arc::new(view))
        .map_err(Error::Query)?;
    Ok(())
}

/// A session without tables.
fn engine() -> Result<SessionContext> {
    let mut options = ConfigOptions::from_env().map_err(Error::Query)?;
    options.execution.parquet.pushdown_filters = true;
    options.execution.parquet.reorder_filters = true;
    options.execution.collect_statistics = true;
    options.sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
    let config = SessionConfig::from(options)
        .with_information_schema(true)
        .with_default_catalog_and_schema("tsql", "public")
        .with_create_default_catalog_and_schema(true);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .build();
    let context = SessionContext::new_with_state(state).enable_url_table();
    functions::register(&context);
    Ok(context)
}
