//! Tables and views of the store that a query references, so that no others are loaded.

use std::collections::{BTreeSet, VecDeque};

use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;

use crate::statement::splits::{StoreRequests, store_requests};
use crate::statement::{parse_statements, splits};
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::Table;

/// Schema of the stored columns.
pub const STORED: &str = "stored";

/// Table function that returns noise floors.
pub const NOISE_FLOORS: &str = "noise_floors";

/// Table function that returns the coverage of search spaces.
pub const SEARCH_SPACES: &str = "search_spaces";

/// Table functions over a store, each with a query that names the tables and views it is computed from.
const TABLE_FUNCTIONS: [(&str, &str); 2] = [
    (NOISE_FLOORS, "SELECT 1 FROM records, environments, labels"),
    (
        SEARCH_SPACES,
        "SELECT 1 FROM records, environments, configurations, graphs, spaces",
    ),
];

/// Names of tables and views: tables by their folder names, views by their SQL names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferencedTables {
    /// Stored tables.
    pub tables: BTreeSet<&'static str>,
    /// Views, by their SQL names.
    pub views: BTreeSet<String>,
    /// URLs of files that are read or written.
    pub urls: BTreeSet<String>,
}

impl ReferencedTables {
    /// All tables and views of a store.
    pub fn all() -> Result<Self> {
        let tables = schema::tables()?.iter();
        let views = schema::views()?.iter();
        Ok(Self {
            tables: tables.map(|table| table.name.as_str()).collect(),
            views: views.map(|view| view.name.clone()).collect(),
            urls: BTreeSet::new(),
        })
    }

    /// Tables and views that `sql` references, directly or through views.
    pub fn from_sql(sql: &str, state: &SessionState) -> Result<Self> {
        let mut names = Self::default();
        let mut waiting = vec![sql.to_owned()];
        let mut all = false;
        while let Some(sql) = waiting.pop() {
            let statements = parse_statements(&sql)?;
            names.urls.extend(statements.iter().flat_map(copied_files));
            for statement in &statements {
                names.add_requests(&store_requests(statement)?)?;
            }
            for reference in references(&statements, state)? {
                all |= reference.schema() == Some("information_schema");
                let name = reference.table();
                if name.contains("://") {
                    names.urls.insert(name.to_owned());
                }
                let computed = TABLE_FUNCTIONS.iter().find(|(known, _)| *known == name);
                waiting.extend(computed.map(|(_, sources)| (*sources).to_owned()));
                let stored = reference.schema() == Some(STORED);
                let is_named =
                    |table: &&Table| table.sql_name() == name || stored && table.name == name;
                if let Some(table) = schema::tables()?.iter().find(is_named) {
                    names.tables.insert(&table.name);
                }
                let view = schema::views()?.iter().find(|view| view.name == name);
                if let Some(view) = view
                    && names.views.insert(view.name.clone())
                {
                    waiting.push(view.sql.clone());
                }
            }
        }
        let Self { tables, views, .. } = if all { Self::all()? } else { names.clone() };
        Ok(Self {
            tables,
            views,
            urls: names.urls,
        })
    }
}

impl ReferencedTables {
    /// Adds the tables that splits and versions are computed from.
    fn add_requests(&mut self, asked: &StoreRequests) -> Result<()> {
        let mut tables: Vec<&str> = asked.versions.iter().map(String::as_str).collect();
        if !asked.splits.is_empty() {
            tables.extend(splits::SPLIT_TABLES);
            self.views.extend(splits::SPLIT_VIEWS.map(str::to_owned));
        }
        let own = schema::tables()?.iter();
        let own = own.filter(|table| {
            [table.name.as_str(), table.sql_name()]
                .iter()
                .any(|name| tables.contains(name))
        });
        self.tables.extend(own.map(|table| table.name.as_str()));
        Ok(())
    }
}

/// Returns whether `sql` references tables or views of a store. If not, it can run without one.
///
/// # Errors
/// [`Error::Query`] for invalid SQL.
pub fn references_store(sql: &str) -> Result<bool> {
    let state = datafusion::prelude::SessionContext::new().state();
    let names = ReferencedTables::from_sql(sql, &state)?;
    Ok(!names.tables.is_empty() || !names.views.is_empty())
}

/// Names of tables in `sql` that the store does not have: files, and tables that a program provides.
///
/// ```
/// let names = tsql_dialect::referenced_tables::other_tables("WITH c AS (SELECT 1) FROM c, records JOIN mine USING (config_id)")?;
/// assert_eq!(names, ["mine"]);
/// # Ok::<(), tsql_error::Error>(())
/// ```
///
/// # Errors
/// [`Error::Sql`] for invalid SQL.
pub fn other_tables(sql: &str) -> Result<Vec<String>> {
    let state = datafusion::prelude::SessionContext::new().state();
    let found = references(&parse_statements(sql)?, &state)?.into_iter();
    let bare = found.filter(|reference| reference.schema().is_none());
    let names: BTreeSet<String> = bare.map(|reference| reference.table().to_owned()).collect();
    let is_own = |name: &String| schema::relation(name).is_some();
    Ok(names.into_iter().filter(|name| !is_own(name)).collect())
}

fn references(
    statements: &VecDeque<Statement>,
    state: &SessionState,
) -> Result<Vec<TableReference>> {
    let mut references = Vec::new();
    for statement in statements {
        let found = state.resolve_table_references(statement);
        references.extend(found.map_err(Error::Query)?);
    }
    Ok(references)
}

/// Files that a statement references other than as tables.
fn copied_files(statement: &Statement) -> Vec<String> {
    match statement {
        Statement::CopyTo(copy) => vec![copy.target.clone()],
        Statement::CreateExternalTable(table) => table.locations.clone(),
        Statement::Explain(explain) => copied_files(&explain.statement),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str) -> ReferencedTables {
        let state = datafusion::prelude::SessionContext::new().state();
        ReferencedTables::from_sql(sql, &state).unwrap()
    }

    #[test]
    fn only_what_is_named_is_needed() {
        assert_eq!(names("SELECT 1"), ReferencedTables::default());
        let joined = names("SELECT * FROM records JOIN stored.configurations USING (config_id)");
        assert_eq!(joined.tables, BTreeSet::from(["configurations", "records"]));
        assert!(joined.views.is_empty());
    }

    #[test]
    fn tables_below_a_view_are_referenced() {
        let nodes = names("WITH n AS (SELECT * FROM edges) SELECT * FROM n, 'records.parquet'");
        assert!(nodes.views.contains("edges"));
        assert!(nodes.tables.contains("graphs"));
        assert!(!nodes.tables.contains("records"));
    }

    #[test]
    fn only_files_that_are_read_or_written_are_named() {
        let urls = |sql: &str| names(sql).urls.into_iter().collect::<Vec<_>>();
        let nothing: [&str; 0] = [];
        assert_eq!(
            urls("SELECT 's3://bucket/x' FROM records WHERE name = 'https://host/'"),
            nothing
        );
        assert_eq!(urls("SELECT 1 -- 's3://bucket/x'"), nothing);
        assert_eq!(
            urls("SELECT * FROM 's3://b/a.b.csv' JOIN 'https://host/x' USING (y)"),
            ["https://host/x", "s3://b/a.b.csv"]
        );
        assert_eq!(urls("COPY (SELECT 1) TO 's3://b/x.csv'"), ["s3://b/x.csv"]);
    }

    #[test]
    fn what_lists_tables_needs_all() {
        assert_eq!(names("SHOW TABLES"), ReferencedTables::all().unwrap());
        let listed = names("SELECT table_name FROM information_schema.tables");
        assert_eq!(listed, ReferencedTables::all().unwrap());
    }
}
