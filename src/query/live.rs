//! A session that goes on while others commit: what they bring shows, and what was made in it stays.
//!
//! The session itself is kept, with its settings; what it has of the store is replaced. A view has a plan over the
//! tables as they were when it was made, so views that somebody made are planned again, from their text and in the
//! order in which they were made. So are prepared statements, after the views: `EXECUTE` reads what `SELECT` reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::logical_expr::TableType;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Ident, Statement as SqlStatement};
use futures::future::try_join_all;

use super::names::Names;
use super::session::{SessionOptions, tables_of};
use super::statement::{planned, statements};
use crate::error::{Error, Result};
use crate::store::{Store, Versions};

/// Catalog of all that a session has.
const CATALOG: &str = "tsql";

/// Tables by schema and name.
type Tables = BTreeMap<(String, String), Arc<dyn TableProvider>>;

/// What somebody did to the tables of the session.
enum Change {
    Made((String, String), Arc<dyn TableProvider>),
    Dropped((String, String)),
}

/// A `PREPARE` statement and the text that it was typed in.
struct Prepared {
    name: Ident,
    statement: Statement,
    sql: String,
}

/// A session over a store that shows later commits, too.
///
/// - What a session has of the store is of one moment: the last [`LiveSession::refresh`].
/// - Views and tables that were made in it stay, views over what the store has then.
/// - Prepared statements stay if the session knows them, over what the store has then.
pub struct LiveSession {
    store: Store,
    context: SessionContext,
    names: Names,
    versions: Versions,
    known: Tables,
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

impl Store {
    /// A session with all that the store has, which can be brought up to date.
    ///
    /// ```
    /// # use tsql::{Store, query::SessionOptions};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = Store::create("memory:").await?;
    /// let mut session = store.live_session(&SessionOptions::default()).await?;
    /// session.context().sql("CREATE VIEW mine AS SELECT count(*) AS n FROM records").await.unwrap();
    /// session.learn().await?;
    /// assert!(!session.refresh().await?, "nobody has written");
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Store::session`].
    pub async fn live_session(&self, options: &SessionOptions) -> Result<LiveSession> {
        let options = SessionOptions {
            sql: None,
            ..options.clone()
        };
        let mut session = LiveSession {
            store: self.clone(),
            context: self.engine(&options)?,
            names: Names::all()?,
            versions: Versions::new(),
            known: Tables::new(),
            changes: Vec::new(),
            prepared: Vec::new(),
        };
        session.show(options.shares()).await?;
        session.known = session.tables().await?;
        Ok(session)
    }
}

impl LiveSession {
    /// The session that questions are asked in.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The version of a table of the store that the session shows; `None` where it has none.
    #[must_use]
    pub fn version(&self, table: &str) -> Option<u64> {
        self.versions.get(table).copied().flatten()
    }

    /// Looks at which views and tables were made, replaced or dropped since it was last asked; were there any? To be
    /// asked after each statement: that is the order in which they are made again.
    ///
    /// # Errors
    /// [`Error::Query`] where a table cannot be looked at.
    pub async fn learn(&mut self) -> Result<bool> {
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
            self.prepare_again().await;
        }
        Ok(has_changed)
    }

    /// Remembers a statement that was executed, if it has prepared another one or removed a prepared one.
    pub(crate) fn remember(&mut self, statement: &Statement, sql: &str) {
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
                let removed = known_as(name);
                let is_other = |one: &Prepared| known_as(&one.name) != removed;
                self.prepared.retain(is_other);
            }
            _ => {}
        }
    }

    /// Plans prepared statements over what the session has now. A statement that cannot be planned any more does not
    /// exist until it can be: its old plan would return rows of another moment.
    async fn prepare_again(&self) {
        for prepared in &self.prepared {
            let remove = format!("DEALLOCATE {}", prepared.name);
            // It does not exist where it could not be planned the last time.
            self.context.sql(&remove).await.ok();
            let statement = prepared.statement.clone();
            planned(&self.context, statement, &prepared.sql).await.ok();
        }
    }

    /// Shows what was committed meanwhile; was there anything? A store as it was stays as it was. Asks only for the
    /// newest version of each table, all at once, unless there is a new one.
    ///
    /// # Errors
    /// As [`Store::session`]. The session goes on then, maybe without some of its tables, until the next call.
    pub async fn refresh(&mut self) -> Result<bool> {
        if self.store.changeable().is_err() || self.newest().await? == self.versions {
            return Ok(false);
        }
        self.learn().await?;
        self.show(false).await?;
        for change in &self.changes {
            self.again(change).await?;
        }
        self.known = self.tables().await?;
        self.prepare_again().await;
        Ok(true)
    }

    /// Makes what `sql` reads and writes elsewhere known to the session: buckets and web servers.
    ///
    /// # Errors
    /// [`Error::Query`] for what is no SQL, [`Error::InvalidLocation`] for places that cannot be reached.
    pub async fn reach(&self, sql: &str) -> Result<()> {
        let names = Names::of(sql, &self.context.state())?;
        super::session::reach(&self.context, &names).await
    }

    async fn newest(&self) -> Result<Versions> {
        let versions = tables_of(&self.names)?.into_iter().map(async |table| {
            let newest = self.store.snapshot(&table.name).await?;
            let version = newest.map(|newest| newest.version());
            Ok::<_, Error>((table.name.as_str(), version))
        });
        Ok(try_join_all(versions).await?.into_iter().collect())
    }

    /// Puts what the store has now in the place of what it had.
    ///
    /// `shares` in a session that nobody has set anything in.
    async fn show(&mut self, shares: bool) -> Result<()> {
        let tables = tables_of(&self.names)?;
        let snapshots = self.store.snapshots_of(&tables).await?;
        // Only what is shown is known: whatever fails is tried again.
        self.versions = Versions::new();
        self.store
            .show(&self.context, &self.names, &snapshots, shares)
            .await?;
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

    /// All tables and views that there are.
    async fn tables(&self) -> Result<Tables> {
        let mut tables = Tables::new();
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

    /// Does once more what somebody did.
    async fn again(&self, change: &Change) -> Result<()> {
        let (Change::Made(name, _) | Change::Dropped(name)) = change;
        let reference = TableReference::full(CATALOG, name.0.as_str(), name.1.as_str());
        let Change::Made(_, table) = change else {
            let dropped = self.context.deregister_table(reference);
            dropped.map_err(Error::Query)?;
            return Ok(());
        };
        if let Some(definition) = table.get_table_definition()
            && table.table_type() == TableType::View
            && self.made(definition).await.is_ok()
        {
            return Ok(());
        }
        // No view, or one that cannot be made any more: it says so when it is asked.
        let replaced = self.context.deregister_table(reference.clone());
        replaced.map_err(Error::Query)?;
        let kept = self.context.register_table(reference, Arc::clone(table));
        kept.map_err(Error::Query)?;
        Ok(())
    }

    /// Makes a view, in the place of one that there may be.
    async fn made(&self, definition: &str) -> Result<()> {
        for mut statement in statements(definition)? {
            if let Statement::Statement(inner) = &mut statement
                && let SqlStatement::CreateView(view) = inner.as_mut()
            {
                view.or_replace = true;
                view.if_not_exists = false;
            }
            planned(&self.context, statement, definition).await?;
        }
        Ok(())
    }
}

/// The name by which `EXECUTE` finds a prepared statement.
fn known_as(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::preaggregates::tests::add;
    use super::super::tests::{ROWS, records};
    use super::*;

    async fn more(store: &Store, number: i64) {
        let partition = [("dataset", "tenset"), ("platform", "a")];
        add(store, "records", &partition, records(number, true)).await;
    }

    async fn told(session: &LiveSession, sql: &str) -> i64 {
        use arrow::array::AsArray as _;
        use arrow::datatypes::Int64Type;
        let rows = super::super::collect(session.context(), sql).await.unwrap();
        rows[0].column(0).as_primitive::<Int64Type>().value(0)
    }

    async fn say(session: &mut LiveSession, sql: &str) {
        for statement in statements(sql).unwrap() {
            let given = statement.clone();
            planned(session.context(), given, sql).await.unwrap();
            session.remember(&statement, sql);
            session.learn().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_prepared_statement_reads_what_a_query_reads() {
        let store = Store::create("memory:").await.unwrap();
        more(&store, 0).await;
        let options = SessionOptions::default();
        let mut session = store.live_session(&options).await.unwrap();
        say(
            &mut session,
            "CREATE VIEW few AS SELECT line FROM records WHERE line <= 10;
             PREPARE p AS SELECT count(*) FROM few WHERE line <= $1;
             PREPARE \"Q\"(BIGINT) AS SELECT count(*) FROM records WHERE line <= $1;
             PREPARE gone AS SELECT 1 AS x;
             DEALLOCATE gone",
        )
        .await;
        assert_eq!(told(&session, "EXECUTE p(5)").await, 5);
        for files in 2..4 {
            more(&store, files).await;
            assert!(session.refresh().await.unwrap());
            assert_eq!(told(&session, "EXECUTE p(5)").await, 5 * files);
            assert_eq!(told(&session, "EXECUTE \"Q\"(7)").await, 7 * files);
        }
        // Nor does it read a view that there is no more.
        let other = "CREATE OR REPLACE VIEW few AS SELECT line FROM records WHERE line <= 2";
        say(&mut session, other).await;
        assert_eq!(told(&session, "EXECUTE p(5)").await, 6);
        say(&mut session, "DROP VIEW few").await;
        assert!(session.context().sql("EXECUTE p(5)").await.is_err());
        say(&mut session, "CREATE VIEW few AS SELECT 1 AS line").await;
        assert_eq!(told(&session, "EXECUTE p(5)").await, 1);
        assert!(session.context().sql("EXECUTE gone").await.is_err());
        say(&mut session, "DEALLOCATE p").await;
        more(&store, 4).await;
        assert!(session.refresh().await.unwrap());
        assert!(session.context().sql("EXECUTE p(5)").await.is_err());
    }

    #[tokio::test]
    async fn commits_show_and_what_was_made_stays() {
        let store = Store::create("memory:").await.unwrap();
        more(&store, 0).await;
        let options = SessionOptions::default();
        let mut session = store.live_session(&options).await.unwrap();
        say(
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
        assert_eq!(told(&session, "SELECT n FROM a").await, 10);
        assert_eq!(told(&session, "SELECT count(*) FROM records").await, 5);
        assert!(!session.refresh().await.unwrap());
        for files in 2..4 {
            more(&store, files).await;
            assert!(session.refresh().await.unwrap());
            assert_eq!(told(&session, "SELECT n FROM a").await, 10 * files);
            assert_eq!(told(&session, "SELECT n FROM then").await, 10);
            assert_eq!(told(&session, "SELECT n FROM over_gone").await, 1);
            assert_eq!(
                told(&session, "SELECT count(*) FROM records").await,
                5 * files
            );
            let stored = "SELECT count(*) FROM stored.records";
            assert_eq!(told(&session, stored).await, ROWS * files);
            assert!(!session.context().table_exist("gone").unwrap());
            let state = session.context().state();
            assert_eq!(state.config().batch_size(), 77);
        }
        assert_eq!(session.version("records"), Some(3));
    }

    /// It is planned from the text that was typed, with the graphs that there are then.
    #[tokio::test]
    async fn a_view_of_a_split_knows_what_came_later() {
        let store = Store::demo().await.unwrap();
        store.create_split("s", &Default::default()).await.unwrap();
        let options = SessionOptions::default();
        let mut session = store.live_session(&options).await.unwrap();
        say(
            &mut session,
            "CREATE VIEW parts AS SELECT split('s') AS part FROM records",
        )
        .await;
        let before = told(&session, "SELECT count(part) FROM parts").await;
        let measured = concat!(env!("CARGO_MANIFEST_DIR"), "/data/measured");
        let measured = [measured.to_owned()];
        let ingested = store.ingest(&measured, &Default::default()).await;
        ingested.unwrap();
        assert!(session.refresh().await.unwrap());
        let sql = "SELECT count(part) FROM parts";
        assert!(told(&session, sql).await > before);
        let without = "SELECT count(*) FROM parts WHERE part IS NULL";
        assert_eq!(told(&session, without).await, 0);
    }

    #[tokio::test]
    async fn a_store_as_it_was_stays_so() {
        let store = Store::create("memory:").await.unwrap();
        more(&store, 0).await;
        let then = store.at(&"records@1".parse().unwrap()).await.unwrap();
        let options = SessionOptions::default();
        let mut session = then.live_session(&options).await.unwrap();
        more(&store, 1).await;
        assert!(!session.refresh().await.unwrap());
        assert_eq!(told(&session, "SELECT count(*) FROM records").await, ROWS);
    }
}
