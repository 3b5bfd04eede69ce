//! Which tables and views of the store a query needs, so that no others are looked at.

use std::collections::BTreeSet;

use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::sql::parser::DFParser;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;

use crate::error::{Error, Result};
use crate::schema;

/// Tables and views by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) tables: BTreeSet<&'static str>,
    pub(super) views: BTreeSet<String>,
}

impl Names {
    /// All that a store has.
    pub(super) fn all() -> Result<Self> {
        let tables = schema::tables()?.iter();
        let views = schema::views()?.into_iter();
        Ok(Self {
            tables: tables.map(|table| table.name.as_str()).collect(),
            views: views.map(|view| view.name).collect(),
        })
    }

    /// Those that `sql` names, and those that these are views of.
    pub(super) fn of(sql: &str, state: &SessionState) -> Result<Self> {
        let mut names = Self::default();
        let mut waiting = vec![sql.to_owned()];
        while let Some(sql) = waiting.pop() {
            for reference in references(&sql, state)? {
                if reference.schema() == Some("information_schema") {
                    return Self::all();
                }
                let name = reference.table();
                if let Some(table) = schema::tables()?.iter().find(|table| table.name == name) {
                    names.tables.insert(&table.name);
                }
                let view = schema::views()?.into_iter().find(|view| view.name == name);
                if let Some(view) = view
                    && names.views.insert(view.name)
                {
                    waiting.push(view.sql);
                }
            }
        }
        Ok(names)
    }
}

/// Does `sql` name tables or views of a store? It can be answered without one where it does not.
///
/// # Errors
/// [`Error::Query`] for what is no SQL.
pub(crate) fn names_tables(sql: &str) -> Result<bool> {
    let state = datafusion::prelude::SessionContext::new().state();
    let names = Names::of(sql, &state)?;
    Ok(!names.tables.is_empty() || !names.views.is_empty())
}

fn references(sql: &str, state: &SessionState) -> Result<Vec<TableReference>> {
    let statements = DFParser::parse_sql_with_dialect(sql, &PostgreSqlDialect {});
    let mut references = Vec::new();
    for statement in statements.map_err(Error::Query)? {
        let found = state.resolve_table_references(&statement);
        references.extend(found.map_err(Error::Query)?);
    }
    Ok(references)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str) -> Names {
        let state = datafusion::prelude::SessionContext::new().state();
        Names::of(sql, &state).unwrap()
    }

    #[test]
    fn only_what_is_named_is_needed() {
        assert_eq!(names("SELECT 1"), Names::default());
        let joined = names("SELECT * FROM records JOIN stored.configurations USING (config_id)");
        assert_eq!(joined.tables, BTreeSet::from(["configurations", "records"]));
        assert!(joined.views.is_empty());
    }

    #[test]
    fn what_a_view_is_made_of_is_needed_too() {
        let nodes = names("WITH n AS (SELECT * FROM edges) SELECT * FROM n, 'records.parquet'");
        assert!(nodes.views.contains("edges"));
        assert!(nodes.tables.contains("graphs"));
        assert!(!nodes.tables.contains("records"));
    }

    #[test]
    fn what_lists_tables_needs_all() {
        assert_eq!(names("SHOW TABLES"), Names::all().unwrap());
        let listed = names("SELECT table_name FROM information_schema.tables");
        assert_eq!(listed, Names::all().unwrap());
    }
}
