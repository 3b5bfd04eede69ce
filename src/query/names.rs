//! Which tables and views of the store a query needs, so that no others are looked at.

use std::collections::{BTreeSet, VecDeque};

use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;

use super::statement::splits::{self, Asked, asked};
use super::statement::statements;
use crate::error::{Error, Result};
use crate::schema::{self, Table};

/// Schema of the stored columns.
pub(super) const STORED: &str = "stored";

/// Tables and views by their names: tables by those of their folders, views by those in SQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) tables: BTreeSet<&'static str>,
    pub(super) views: BTreeSet<String>,
    /// URLs of files that are read or written.
    pub(super) urls: BTreeSet<String>,
}

impl Names {
    /// All that a store has.
    pub(super) fn all() -> Result<Self> {
        let tables = schema::tables()?.iter();
        let views = schema::views()?.iter();
        Ok(Self {
            tables: tables.map(|table| table.name.as_str()).collect(),
            views: views.map(|view| view.name.clone()).collect(),
            urls: BTreeSet::new(),
        })
    }

    /// Those that `sql` names, and those that these are views of.
    pub(super) fn of(sql: &str, state: &SessionState) -> Result<Self> {
        let mut names = Self::default();
        let mut waiting = vec![sql.to_owned()];
        let mut all = false;
        while let Some(sql) = waiting.pop() {
            let statements = statements(&sql)?;
            names.urls.extend(statements.iter().flat_map(files));
            for statement in &statements {
                names.ask(&asked(statement)?)?;
            }
            for reference in references(&statements, state)? {
                all |= reference.schema() == Some("information_schema");
                let name = reference.table();
                if name.contains("://") {
                    names.urls.insert(name.to_owned());
                }
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

impl Names {
    /// Those that splits and versions are found by.
    fn ask(&mut self, asked: &Asked) -> Result<()> {
        let mut tables: Vec<&str> = asked.versions.iter().map(String::as_str).collect();
        if !asked.splits.is_empty() {
            tables.extend(splits::TABLES);
            self.views.extend(splits::VIEWS.map(str::to_owned));
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

/// Does `sql` name tables or views of a store? It can be answered without one where it does not.
///
/// # Errors
/// [`Error::Query`] for what is no SQL.
pub(crate) fn names_tables(sql: &str) -> Result<bool> {
    let state = datafusion::prelude::SessionContext::new().state();
    let names = Names::of(sql, &state)?;
    Ok(!names.tables.is_empty() || !names.views.is_empty())
}

/// Names in `sql` that stand for tables which the store does not have: files, and what a program brings along.
///
/// ```
/// let names = tsql::query::other_tables("WITH c AS (SELECT 1) FROM c, records JOIN mine USING (config_id)")?;
/// assert_eq!(names, ["mine"]);
/// # Ok::<(), tsql::Error>(())
/// ```
///
/// # Errors
/// [`Error::Sql`] for what is no SQL.
pub fn other_tables(sql: &str) -> Result<Vec<String>> {
    let state = datafusion::prelude::SessionContext::new().state();
    let found = references(&statements(sql)?, &state)?.into_iter();
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

/// Files that a statement names otherwise than as tables.
fn files(statement: &Statement) -> Vec<String> {
    match statement {
        Statement::CopyTo(copy) => vec![copy.target.clone()],
        Statement::CreateExternalTable(table) => table.locations.clone(),
        Statement::Explain(explain) => files(&explain.statement),
        _ => Vec::new(),
    }
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
        assert_eq!(names("SHOW TABLES"), Names::all().unwrap());
        let listed = names("SELECT table_name FROM information_schema.tables");
        assert_eq!(listed, Names::all().unwrap());
    }
}
