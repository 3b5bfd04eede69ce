//! Tools that list tables and queries.

use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::Reference;
use tsql_session::NamedQuery;

use super::arguments::{DescribeTable, ListTables};
use super::server_state::ServerState;

const TABLE: &str = "table";
const VIEW: &str = "view";

/// Default of a parameter that names a platform.
const MOST_RECORDS: &str = "the platform with the most records";

/// Tables and views of a store.
#[derive(Debug, Serialize)]
pub(crate) struct TableList {
    tables: Vec<TableEntry>,
    /// Number of tables without rows that are not listed.
    empty_tables_left_out: usize,
}

#[derive(Debug, Serialize)]
struct TableEntry {
    name: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    doc: &'static str,
}

/// Description of a table or view.
#[derive(Debug, Serialize)]
pub(crate) struct TableDescription {
    name: &'static str,
    kind: &'static str,
    doc: &'static str,
    columns: Vec<ColumnDescription>,
}

#[derive(Debug, Serialize)]
struct ColumnDescription {
    name: &'static str,
    #[serde(rename = "type")]
    type_name: String,
    nullable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    references: Vec<String>,
    doc: &'static str,
}

/// Built-in queries and the user's own.
#[derive(Debug, Serialize)]
pub(crate) struct QueryList {
    queries: Vec<QueryEntry>,
}

#[derive(Debug, Serialize)]
struct QueryEntry {
    name: String,
    title: String,
    parameters: Vec<ParameterEntry>,
    has_plot: bool,
    /// Such queries are listed, because a user can run them on the command line.
    needs_file: bool,
}

#[derive(Debug, Serialize)]
struct ParameterEntry {
    name: String,
    default: String,
    doc: String,
}

/// Returns the tables with their rows, and the views.
pub(crate) async fn list_tables(state: &ServerState, arguments: ListTables) -> Result<TableList> {
    let mut list = TableList {
        tables: Vec::new(),
        empty_tables_left_out: 0,
    };
    for table in schema::tables()? {
        let snapshot = state.store.snapshot(&table.name).await?;
        let files = snapshot
            .as_ref()
            .map(|snapshot| snapshot.files().as_slice());
        let files = files.unwrap_or_default().iter();
        let rows: u64 = files.map(|file| file.stats.num_records).sum();
        if rows == 0 && !arguments.include_empty {
            list.empty_tables_left_out += 1;
            continue;
        }
        list.tables.push(TableEntry {
            name: table.sql_name(),
            kind: TABLE,
            rows: Some(rows),
            doc: &table.doc,
        });
    }
    list.tables
        .extend(schema::views()?.iter().map(|view| TableEntry {
            name: &view.name,
            kind: VIEW,
            rows: None,
            doc: &view.doc,
        }));
    list.tables
        .sort_by_key(|entry| schema::list_order(entry.name));
    Ok(list)
}

/// Returns the columns of a table or view.
pub(crate) fn describe_table(arguments: &DescribeTable) -> Result<TableDescription> {
    let name = arguments.name.as_str();
    let Some(relation) = schema::relation(name) else {
        let names: Vec<&str> = schema::relations()?.map(|relation| relation.name).collect();
        return Err(Error::Unknown {
            kind: "table or view",
            name: name.to_owned(),
            known: names.join(", "),
        });
    };
    let references = references(name)?;
    let columns = relation.shown_columns().map(|column| {
        let own = references.iter();
        let own = own.filter(|reference| reference.columns.contains(&column.name));
        ColumnDescription {
            name: &column.name,
            type_name: column.type_name.to_string(),
            nullable: column.null,
            unit: column.unit.as_deref(),
            references: own.map(|reference| reference.to.clone()).collect(),
            doc: &column.doc,
        }
    });
    Ok(TableDescription {
        name: relation.name,
        kind: if relation.is_view { VIEW } else { TABLE },
        doc: relation.doc,
        columns: columns.collect(),
    })
}

fn references(name: &str) -> Result<Vec<Reference>> {
    let mut views = schema::views()?.iter();
    if let Some(view) = views.find(|view| view.name == name) {
        return Ok(view.references().collect());
    }
    let mut tables = schema::tables()?.iter();
    let table = tables.find(|table| table.sql_name() == name);
    Ok(table.map_or_else(Vec::new, |table| table.references().collect()))
}

/// Returns the built-in queries and the user's own.
pub(crate) fn list_queries(state: &ServerState) -> QueryList {
    QueryList {
        queries: state.queries.iter().map(query_entry).collect(),
    }
}

fn query_entry(query: &NamedQuery) -> QueryEntry {
    let parameters = query.parameters.iter().map(|parameter| {
        let default = parameter.default.as_deref().unwrap_or(MOST_RECORDS);
        ParameterEntry {
            name: parameter.name.clone(),
            default: default.to_owned(),
            doc: parameter.doc.clone(),
        }
    });
    QueryEntry {
        name: query.name.clone(),
        title: query.title.clone(),
        parameters: parameters.collect(),
        has_plot: query.plot.is_some(),
        needs_file: !query.files.is_empty(),
    }
}
