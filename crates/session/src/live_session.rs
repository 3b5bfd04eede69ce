//! A session that follows commits of other processes, and keeps views and tables created in it.
//!
//! The session object and its settings remain, while the store tables are replaced. The plan of a view contains the
//! tables as of its creation. User-defined views are therefore planned again, from their text and in the order of
//! creation. Prepared statements follow after the views, so that `EXECUTE` reads the same data as `SELECT`.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::logical_expr::TableType;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Ident, Statement as SqlStatement};
use futures::future::try_join_all;
use tsql_dialect::referenced_tables::ReferencedTables;
use tsql_dialect::statement::{parse_statements, plan_statement};
use tsql_error::{Error, Result};
use tsql_store::{Store, Versions};

use super::session::{SessionOptions, tables_of};
use crate::session::{new_engine_context, show_versions};

/// Catalog of all tables of a session.
const CATALOG: &str = "tsql";

/// Tables by schema and name.
type SessionTables = BTreeMap<(String, String), Arc<dyn TableProvider>>;

/// A change that a user made to the tables of the session.
enum Change {
    Made((String, String), Arc<dyn TableProvider>),
    Dropped((String, String)),
}

/// A `PREPARE` statement and its SQL text.
struct Prepared {
    name: Ident,
    statement: Statement,
    sql: String,
}

/// A session over a store that also shows later commits.
///
/// - The store tables of a session are a consistent snapshot as of the last [`LiveSession::refresh`].
/// - Views and tables created in the session remain. Views then read the new snapshot.
/// - Prepared statements remain if they were recorded, and read the new snapshot.
pub struct LiveSession {
    store: Store,
    context: SessionContext,
    names: ReferencedTables,
    versions: Versions,
    known: SessionTables,
    changes: Vec<Change>,
    prepared: Vec<Prepared>,
}

impl std::fmt::Debug for LiveSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LiveSession")
            .field("store", &self.store)
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}

/// Creates a session with all tables of the store, which can be refreshed.
///
/// # Errors
/// As [`open_session`](crate::open_session).
pub async fn open_live_session(store: &Store, options: &SessionOptions) -> Result<LiveSession> {
    let options = SessionOptions {
        sql: None,
        ..options.clone()
    };
    let mut session = LiveSession {
        store: store.clone(),
        context: new_engine_context(store, &options)?,
        names: ReferencedTables::all()?,
        versions: Versions::new(),
        known: SessionTables::new(),
        changes: Vec::new(),
        prepared: Vec::new(),
    };
    session.show_versions(options.shares_views()).await?;
    session.known = session.tables().await?;
    Ok(session)
}

impl LiveSession {
    /// The session in which queries run.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Version of a store table that the session shows; `None` if the store does not have it.
    #[must_use]
    pub fn version(&self, table: &str) -> Option<u64> {
        self.versions.get(table).copied().flatten()
    }

    /// Records which views and tables were created, replaced or dropped since the last call, and returns whether there
    /// were any.
    ///
    /// Must be called after each statement, because changes are applied again in the order of the calls.
    ///
    /// # Errors
    /// [`Error::Query`] if a table cannot be read.
    pub async fn track_changes(&mut self) -> Result<bool> {
        let now = self.tables().await?;
        let before = self.changes.len();
        for name in self.known.keys().filter(|name| !now.contains_key(*name)) {
            self.changes.push(Change::Dropped(name.clone()));
        }
        for (name, table) in &now {
            let known = self.known.get(name);
            if !known.is_some_and(|known| Arc::ptr_eq(known, table)) {
                let made = Change::Made(name.clone(), Arc::clone(table));
                self.changes.push(made);
            }
        }
        self.known = now;
        let has_changed = self.changes.len() > before;
        if has_changed {
            self.replan_prepared().await;
        }
        Ok(has_changed)
    }

    /// Records an executed statement if it is a `PREPARE` or `DEALLOCATE`.
    pub fn track_prepared(&mut self, statement: &Statement, sql: &str) {
        let Statement::Statement(inner) = statement else {
            return;
        };
        match inner.as_ref() {
            SqlStatement::Prepare { name, .. } => self.prepared.push(Prepared {
                name: name.clone(),
                statement: statement.clone(),
                sql: sql.to_owned(),
            }),
            SqlStatement::Deallocate { name, .. } => {
                let removed = prepared_name(name);
                let is_other = |one: &Prepared| prepared_name(&one.name) != removed;
                self.prepared.retain(is_other);
            }
            _ => {}
        }
    }

    /// Plans the prepared statements over the current snapshot.
    ///
    /// A statement that fails to plan is removed until it can be planned again. Its old plan would return rows of an
    /// older snapshot.
    async fn replan_prepared(&self) {
        for prepared in &self.prepared {
            let remove = format!("DEALLOCATE {}", prepared.name);
            // It does not exist if planning failed the last time.
            self.context.sql(&remove).await.ok();
            let statement = prepared.statement.clone();
            plan_statement(&self.context, statement, &prepared.sql)
                .await
                .ok();
        }
    }

    /// Switches to the newest commits, and returns whether there were any.
    ///
    /// Without new commits nothing changes, and the only cost is one concurrent request per table for its newest
    /// version.
    ///
    /// # Errors
    /// As [`open_session`](crate::open_session). The session then remains usable, possibly without some of its tables, until the next
    /// call.
    pub async fn refresh(&mut self) -> Result<bool> {
        if self.store.check_writable().is_err() || self.newest_versions().await? == self.versions {
            return Ok(false);
        }
        self.track_changes().await?;
        self.show_versions(false).await?;
        for change in &self.changes {
            self.reapply(change).await?;
        }
        self.known = self.tables().await?;
        self.replan_prepared().await;
        Ok(true)
    }

    /// Registers the buckets and web servers that `sql` reads or writes.
    ///
    /// # Errors
    /// [`Error::Query`] for invalid SQL, [`Error::InvalidLocation`] for unreachable locations.
    pub async fn register_object_stores(&self, sql: &str) -> Result<()> {
        let names = ReferencedTables::from_sql(sql, &self.context.state())?;
        super::session::register_object_stores(&self.context, &names).await
    }

    async fn newest_versions(&self) -> Result<Versions> {
        let versions = tables_of(&self.names)?.into_iter().map(async |table| {
            let newest = self.store.snapshot(&table.name).await?;
            let version = newest.map(|newest| newest.version());
            Ok::<_, Error>((table.name.as_str(), version))
        });
        Ok(try_join_all(versions).await?.into_iter().collect())
    }

    /// Replaces the store tables by those of the newest versions.
    ///
    /// `shares` is true for a session without user settings, which may share views with other sessions.
    async fn show_versions(&mut self, shares: bool) -> Result<()> {
        let tables = tables_of(&self.names)?;
        let snapshots = self.store.consistent_snapshots(&tables).await?;
        // The versions are set only on success, so that a failure is retried.
        self.versions = Versions::new();
        show_versions(&self.store, &self.context, &self.names, &snapshots, shares).await?;
        let versions = tables.iter().map(|table| {
            let snapshot = snapshots.get(table.name.as_str());
            (
                table.name.as_str(),
                snapshot.map(|snapshot| snapshot.version()),
            )
        });
        self.versions = versions.collect();
        Ok(())
    }

    /// All tables and views of the session.
    async fn tables(&self) -> Result<SessionTables> {
        let mut tables = SessionTables::new();
        let Some(catalog) = self.context.catalog(CATALOG) else {
            return Ok(tables);
        };
        for schema in catalog.schema_names() {
            if schema == "information_schema" {
                continue;
            }
            let Some(provider) = catalog.schema(&schema) else {
                continue;
            };
            for name in provider.table_names() {
                if let Some(table) = provider.table(&name).await.map_err(Error::Query)? {
                    tables.insert((schema.clone(), name), table);
                }
            }
        }
        Ok(tables)
    }

    /// Applies a change of the user again.
    async fn reapply(&self, change: &Change) -> Result<()> {
        let (Change::Made(name, _) | Change::Dropped(name)) = change;
        let reference = TableReference::full(CATALOG, name.0.as_str(), name.1.as_str());
        let Change::Made(_, table) = change else {
            let dropped = self.context.deregister_table(reference);
            dropped.map_err(Error::Query)?;
            return Ok(());
        };
        if let Some(definition) = table.get_table_definition()
            && table.table_type() == TableType::View
            && self.recreate_view(definition).await.is_ok()
        {
            return Ok(());
        }
        // A table, or a view that cannot be planned. The latter returns its error when it is queried.
        let replaced = self.context.deregister_table(reference.clone());
        replaced.map_err(Error::Query)?;
        let kept = self.context.register_table(reference, Arc::clone(table));
        kept.map_err(Error::Query)?;
        Ok(())
    }

    /// Creates or replaces a view.
    async fn recreate_view(&self, definition: &str) -> Result<()> {
        for mut statement in parse_statements(definition)? {
            if let Statement::Statement(inner) = &mut statement
                && let SqlStatement::CreateView(view) = inner.as_mut()
            {
                view.or_replace = true;
                view.if_not_exists = false;
            }
            plan_statement(&self.context, statement, definition).await?;
        }
        Ok(())
    }
}

/// Normalized name by which `EXECUTE` finds a prepared statement.
fn prepared_name(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine_tests::preaggregates::add;
    use super::super::engine_tests::pruning::{ROWS, records};
    use super::*;
    use tsql_dataset::demo::create_demo;
    use tsql_dataset::ingest::ingest;
    use tsql_ml::splits::create_split;

    async fn more(store: &Store, number: i64) {
        let partition = [("dataset", "tenset"), ("platform", "a")];
        add(store, "records", &partition, records(number, true)).await;
    }

    async fn first_number(session: &LiveSession, sql: &str) -> i64 {
        use arrow::array::AsArray as _;
        use arrow::datatypes::Int64Type;
        let rows = tsql_dialect::collect(session.context(), sql).await.unwrap();
        rows[0].column(0).as_primitive::<Int64Type>().value(0)
    }

    async fn run_statements(session: &mut LiveSession, sql: &str) {
        for statement in parse_statements(sql).unwrap() {
            let given = statement.clone();
            plan_statement(session.context(), given, sql).await.unwrap();
            session.track_prepared(&statement, sql);
            session.track_changes().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_prepared_statement_reads_what_a_query_reads() {
        let store = Store::create("memory:").await.unwrap();
        more(&store, 0).await;
        let options = SessionOptions::default();
        let mut session = open_live_session(&store, &options).await.unwrap();
        run_statements(
            &mut session,
            "CREATE VIEW few AS SELECT line FROM records WHERE line <= 10;
             PREPARE p AS SELECT count(*) FROM few WHERE line <= $1;
             PREPARE \"Q\"(BIGINT) AS SELECT count(*) FROM records WHERE line <= $1;
             PREPARE gone AS SELECT 1 AS x;
             DEALLOCATE gone",
        )
        .await;
        assert_eq!(first_number(&session, "EXECUTE p(5)").await, 5);
        for files in 2..4 {
            more(&store, files).await;
            assert!(session.refresh().await.unwrap());
            assert_eq!(first_number(&session, "EXECUTE p(5)").await, 5 * files);
            assert_eq!(first_number(&session, "EXECUTE \"Q\"(7)").await, 7 * files);
        }
        // It does not read a dropped view either.
        let other = "CREATE OR REPLACE VIEW few AS SELECT line FROM records WHERE line <= 2";
        run_statements(&mut session, other).await;
        assert_eq!(first_number(&session, "EXECUTE p(5)").await, 6);
        run_statements(&mut session, "DROP VIEW few").await;
        assert!(session.context().sql("EXECUTE p(5)").await.is_err());
        run_statements(&mut session, "CREATE VIEW few AS SELECT 1 AS line").await;
        assert_eq!(first_number(&session, "EXECUTE p(5)").await, 1);
        assert!(session.context().sql("EXECUTE gone").await.is_err());
        run_statements(&mut session, "DEALLOCATE p").await;
        more(&store, 4).await;
        assert!(session.refresh().await.unwrap());
        assert!(session.context().sql("EXECUTE p(5)").await.is_err());
    }

    #[tokio::test]
    async fn commits_are_visible_and_created_tables_stay() {
        let store = Store::create("memory:").await.unwrap();
        more(&store, 0).await;
        let options = SessionOptions::default();
        let mut session = open_live_session(&store, &options).await.unwrap();
        run_statements(
            &mut session,
            "CREATE VIEW b AS SELECT line FROM records WHERE line <= 10;
             CREATE VIEW a AS SELECT count(*) AS n FROM b;
             CREATE TABLE then AS SELECT n FROM a;
             CREATE VIEW gone AS SELECT 1 AS x;
             CREATE VIEW over_gone AS SELECT count(*) AS n FROM gone;
             DROP VIEW gone;
             CREATE OR REPLACE VIEW records AS SELECT * FROM records WHERE line <= 5;
             SET datafusion.execution.batch_size = 77",
        )
        .await;
        assert_eq!(first_number(&session, "SELECT n FROM a").await, 10);
        assert_eq!(
            first_number(&session, "SELECT count(*) FROM records").await,
            5
        );
        assert!(!session.refresh().await.unwrap());
        for files in 2..4 {
            more(&store, files).await;
            assert!(session.refresh().await.unwrap());
            assert_eq!(first_number(&session, "SELECT n FROM a").await, 10 * files);
            assert_eq!(first_number(&session, "SELECT n FROM then").await, 10);
            assert_eq!(first_number(&session, "SELECT n FROM over_gone").await, 1);
            assert_eq!(
                first_number(&session, "SELECT count(*) FROM records").await,
                5 * files
            );
            let stored = "SELECT count(*) FROM stored.records";
            assert_eq!(first_number(&session, stored).await, ROWS * files);
            assert!(!session.context().table_exist("gone").unwrap());
            let state = session.context().state();
            assert_eq!(state.config().batch_size(), 77);
        }
        assert_eq!(session.version("records"), Some(3));
    }

    /// The view is planned from its original text, with the graphs of the new snapshot.
    #[tokio::test]
    async fn a_view_of_a_split_knows_what_came_later() {
        let store = create_demo().await.unwrap();
        create_split(&store, "s", &Default::default())
            .await
            .unwrap();
        let options = SessionOptions::default();
        let mut session = open_live_session(&store, &options).await.unwrap();
        run_statements(
            &mut session,
            "CREATE VIEW parts AS SELECT split('s') AS part FROM records",
        )
        .await;
        let before = first_number(&session, "SELECT count(part) FROM parts").await;
        let measured = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/measured");
        let measured = [measured.to_owned()];
        let ingested = ingest(&store, &measured, &Default::default()).await;
        ingested.unwrap();
        assert!(session.refresh().await.unwrap());
        let sql = "SELECT count(part) FROM parts";
        assert!(first_number(&session, sql).await > before);
        let without = "SELECT count(*) FROM parts WHERE part IS NULL";
        assert_eq!(first_number(&session, without).await, 0);
    }

    #[tokio::test]
    async fn a_store_as_it_was_stays_so() {
        let store = Store::create("memory:").await.unwrap();
        more(&store, 0).await;
        let then = store.at(&"records@1".parse().unwrap()).await.unwrap();
        let options = SessionOptions::default();
        let mut session = open_live_session(&then, &options).await.unwrap();
        more(&store, 1).await;
        assert!(!session.refresh().await.unwrap());
        assert_eq!(
            first_number(&session, "SELECT count(*) FROM records").await,
            ROWS
        );
    }
}
