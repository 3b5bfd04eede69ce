//! The session: what SQL sees of a store.

use std::sync::Arc;

use datafusion::catalog::MemorySchemaProvider;
use datafusion::catalog::SchemaProvider as _;
use datafusion::common::config::{ConfigNonZeroUsize, ConfigOptions};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use url::Url;

use super::distinct::CountInBitmap;
use super::functions;
use super::names::Names;
use super::sums::AnswerFromSums;
use crate::error::{Error, Result};
use crate::schema::{self, Table};
use crate::store::{LISTED, SCHEMES, Store, objects_at};

/// Rows that operators hand on at a time: windows over a graph of 4,000 programs are a quarter
/// faster than with half as many.
const BATCH_ROWS: usize = 1 << 14;

/// What a session is for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Read only the logs of the tables that this SQL names; all where it is `None`.
    pub sql: Option<String>,
    /// Memory that joins, sorts and groups may take, in bytes; what does not fit goes to
    /// temporary files.
    pub memory_limit_bytes: Option<usize>,
}

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
        self.session_with(&SessionOptions::default()).await
    }

    /// As [`Store::session`], for one query or within limits.
    ///
    /// # Errors
    /// As [`Store::session`]; [`Error::Query`] where `sql` cannot be parsed.
    pub async fn session_with(&self, options: &SessionOptions) -> Result<SessionContext> {
        let context = engine(options)?;
        let names = match &options.sql {
            Some(sql) => Names::of(sql, &context.state())?,
            None => Names::all()?,
        };
        for url in options.sql.as_deref().map(elsewhere).unwrap_or_default() {
            context.register_object_store(&url, objects_at(&url).await?);
        }
        let url = self.object_store_url()?;
        context.register_object_store(url.as_ref(), Arc::clone(self.location().objects()));
        let stored = MemorySchemaProvider::new();
        let tables = schema::tables()?.iter();
        let tables: Vec<&Table> = tables
            .filter(|table| names.tables.contains(table.name.as_str()))
            .collect();
        // What refers to others is read before them, so that all it refers to is there.
        for table in tables.iter().rev() {
            let snapshot = self.snapshot(&table.name).await?;
            let files = snapshot
                .as_ref()
                .map(|snapshot| snapshot.files().as_slice());
            let provider = Arc::new(self.stored_table(table, files.unwrap_or_default())?);
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
        for table in tables {
            view(&context, &table.name, &table.view_sql()).await?;
        }
        for extra in schema::views()? {
            if names.views.contains(&extra.name) {
                view(&context, &extra.name, &extra.sql).await?;
            }
        }
        Ok(context)
    }
}

/// Buckets and web servers that the SQL names files of.
fn elsewhere(sql: &str) -> Vec<Url> {
    let mut found = Vec::new();
    for scheme in SCHEMES {
        for (at, _) in sql.match_indices(&format!("'{scheme}://")) {
            let rest = sql.get(at + 1..).unwrap_or_default();
            let end = rest.find('\'').unwrap_or(rest.len());
            let mut url = rest.get(..end).and_then(|url| Url::parse(url).ok());
            if let Some(url) = &mut url {
                url.set_path("/");
                url.set_query(None);
            }
            found.extend(url.filter(|url| !found.contains(url)));
        }
    }
    found
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
fn engine(options: &SessionOptions) -> Result<SessionContext> {
    let memory_limit = options.memory_limit_bytes;
    let mut options = ConfigOptions::from_env().map_err(Error::Query)?;
    options.execution.parquet.reorder_filters = true;
    options.execution.parquet.max_in_list_size = LISTED;
    options.execution.collect_statistics = true;
    options.execution.batch_size = ConfigNonZeroUsize::try_new(BATCH_ROWS).map_err(Error::Query)?;
    options.optimizer.enable_window_topn = true;
    // Failed records have no runtime: whoever asks for the slowest does not mean them.
    options.sql_parser.default_null_ordering = "nulls_last".to_owned();
    options.sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
    let config = SessionConfig::from(options)
        .with_information_schema(true)
        .with_default_catalog_and_schema("tsql", "public")
        .with_create_default_catalog_and_schema(true);
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = memory_limit {
        runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
    }
    let state = SessionStateBuilder::new()
        .with_runtime_env(Arc::new(runtime.build().map_err(Error::Query)?))
        .with_config(config)
        .with_default_features()
        .with_analyzer_rule(Arc::new(CountInBitmap::new()))
        .with_optimizer_rule(Arc::new(AnswerFromSums))
        .build();
    let context = SessionContext::new_with_state(state).enable_url_table();
    functions::register(&context);
    Ok(context)
}
