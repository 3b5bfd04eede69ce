//! Vocabulary of completion: tables, columns, functions and keywords.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::logical_expr::Documentation;
use datafusion::prelude::SessionContext;

use tsql_error::{Error, Result};
use tsql_schema as schema;

/// Keywords that completion suggests.
pub(crate) const KEYWORDS: &[&str] = &[
    "ALL",
    "ANALYZE",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "CREATE",
    "CROSS",
    "CURRENT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXCLUDE",
    "EXISTS",
    "EXPLAIN",
    "EXTERNAL",
    "FALSE",
    "FETCH",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LAST",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PRECEDING",
    "PREPARE",
    "RANGE",
    "RECURSIVE",
    "REPLACE",
    "RESET",
    "RIGHT",
    "ROW",
    "ROWS",
    "SELECT",
    "SEMI",
    "SET",
    "SHOW",
    "SIMILAR",
    "STORED",
    "TABLE",
    "THEN",
    "TO",
    "TRUE",
    "UNBOUNDED",
    "UNION",
    "UNNEST",
    "UPDATE",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "WITHIN",
];

/// Returns whether a word is a keyword, ignoring case.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// A name and its documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentedName {
    /// The name.
    pub name: String,
    /// Documentation in one line.
    pub doc: String,
}

/// A table or view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableEntry {
    /// Documentation in one line.
    pub doc: String,
    /// In the order of the table.
    pub columns: Vec<DocumentedName>,
}

/// All names of a session.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// By name.
    pub tables: BTreeMap<String, TableEntry>,
    /// By name: syntax and description.
    pub functions: BTreeMap<String, String>,
}

/// A vocabulary that completion and highlighting share with the code that updates it.
#[derive(Clone, Debug, Default)]
pub struct SharedVocabulary(Arc<RwLock<Vocabulary>>);

impl SharedVocabulary {
    /// Calls a function with the current vocabulary.
    pub fn read<T>(&self, look: impl FnOnce(&Vocabulary) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the vocabulary.
    pub fn replace(&self, vocabulary: Vocabulary) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = vocabulary;
    }
}

impl Vocabulary {
    /// Collects the names of a session.
    pub async fn from_session(context: &SessionContext) -> Result<Self> {
        let mut tables = BTreeMap::new();
        let catalog = context.catalog("tsql");
        let public = catalog.and_then(|catalog| catalog.schema("public"));
        for name in public.iter().flat_map(|public| public.table_names()) {
            let provider = context.table_provider(name.as_str()).await;
            let schema = provider.map_err(Error::Query)?.schema();
            let mut known = schema_entry(&name);
            let docs = std::mem::take(&mut known.columns);
            let columns = schema.fields().iter().map(|field| {
                let told = docs.iter().find(|doc| doc.name == *field.name());
                let doc =
                    told.map_or_else(|| field.data_type().to_string(), |told| told.doc.clone());
                let name = field.name().clone();
                DocumentedName { name, doc }
            });
            known.columns = columns.collect();
            tables.insert(name, known);
        }
        Ok(Self {
            tables,
            functions: function_entries(context),
        })
    }
}

/// Documentation of a table or view of the store and of its columns; empty for other tables.
fn schema_entry(name: &str) -> TableEntry {
    let Some(relation) = schema::relation(name) else {
        return TableEntry::default();
    };
    let columns = relation.columns.iter().map(|column| DocumentedName {
        name: column.name.clone(),
        doc: format!("{}: {}", column.type_name, column.doc),
    });
    TableEntry {
        doc: relation.doc.to_owned(),
        columns: columns.collect(),
    }
}

fn function_entries(context: &SessionContext) -> BTreeMap<String, String> {
    let state = context.state();
    let said = |name: &str, said: Option<&Documentation>| {
        let said = said.map(|said| format!("{}: {}", said.syntax_example, said.description));
        (name.to_owned(), said.unwrap_or_default())
    };
    let scalars = state.scalar_functions().iter();
    let scalars = scalars.map(|(name, function)| said(name, function.documentation()));
    let aggregates = state.aggregate_functions().iter();
    let aggregates = aggregates.map(|(name, function)| said(name, function.documentation()));
    let windows = state.window_functions().iter();
    let windows = windows.map(|(name, function)| said(name, function.documentation()));
    let tables = state.table_functions().keys();
    let tables = tables.map(|name| said(name, None));
    let all = tables.chain(windows).chain(aggregates).chain(scalars);
    all.collect()
}
