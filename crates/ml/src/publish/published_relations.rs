//! Published relations: the tables and views that SQL shows, except those without a meaning outside the store.

use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::Column;

/// Relations that are not published, with reasons.
///
/// - `tags` name versions of the store, which a publication does not have.
/// - Retracted rows must not count, and corrections refer to rows that are gone.
/// - `source_segments` has local paths and ingest times of file segments; `sources` describes the files. `files` is an
///   alias of it.
/// - `platform_facts` has earlier values of facts too; `platform_values` and `platforms` have the valid ones.
/// - `lines` and `texts` are only needed for byte-exact exports; `rejects` has the rejected lines.
const LEFT_OUT: [&str; 12] = [
    "tags",
    "source_segments",
    "files",
    "lines",
    "texts",
    "retracted",
    "retracted_runs",
    "corrections",
    "retractions",
    "platform_facts",
    "blocks",
    "block_members",
];

/// Columns that are not published: columns of a node's type, which are in the table of types; local paths of sources,
/// and their corrections.
const COLUMNS_LEFT_OUT: [(&str, &str); 3] = [
    ("nodes", "features"),
    ("sources", "path"),
    ("sources", "first_platform"),
];

/// Columns that views show packed, and the expression that unpacks them.
const UNPACKED: [(&str, &str, &str); 1] = [(
    "features",
    "node_features(features)",
    "The 140 features of TpuGraphs, in the order of the publication's appendix and of the npz files.",
)];

/// A view that has a key.
const SOURCES: &str = "sources";
const SOURCES_DOC: &str = "One row is one source: a file that contained records.";

/// A published table or view.
#[derive(Clone, Debug)]
pub(super) struct PublishedRelation {
    pub(super) name: String,
    pub(super) doc: String,
    /// Key columns. Empty if unknown.
    pub(super) key: Vec<String>,
    /// Partition columns.
    pub(super) partition: Vec<String>,
    /// Sort order of the rows of a folder. It is total.
    pub(super) order: Vec<String>,
    pub(super) columns: Vec<PublishedColumn>,
}

/// A published column.
#[derive(Clone, Debug)]
pub(super) struct PublishedColumn {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) unit: Option<String>,
    /// Its expression.
    pub(super) sql: String,
}

/// Returns all relations that are published if they have rows, in a fixed order: referenced ones first.
pub(super) fn published_relations() -> Result<Vec<PublishedRelation>> {
    let mut all = Vec::new();
    for table in schema::tables()? {
        let order = [&table.sort, &table.key];
        let mut shown = PublishedRelation {
            name: table.sql_name().to_owned(),
            doc: table.doc.clone(),
            key: table.key.clone(),
            partition: table.partition.clone(),
            order: order.into_iter().flatten().cloned().collect(),
            columns: published_columns(table.sql_name(), &table.columns),
        };
        let mut before = Vec::new();
        shown.order.retain(|name| {
            let is_new = !before.contains(name);
            before.push(name.clone());
            is_new
        });
        all.push(shown);
    }
    for view in schema::views()? {
        let flat = view.columns.iter().filter(|column| is_flat(column));
        let all_columns = || flat.map(|column| column.name.clone()).collect();
        let sort = Some(view.sort.clone()).filter(|sort| !sort.is_empty());
        all.push(PublishedRelation {
            columns: published_columns(&view.name, &view.columns),
            order: sort.unwrap_or_else(all_columns),
            key: Vec::new(),
            partition: Vec::new(),
            name: view.name.clone(),
            doc: view.doc.clone(),
        });
    }
    all.retain(|shown| !LEFT_OUT.contains(&shown.name.as_str()));
    if let Some(sources) = all.iter_mut().find(|shown| shown.name == SOURCES) {
        sources.key = vec!["source_id".to_owned()];
        SOURCES_DOC.clone_into(&mut sources.doc);
    }
    Ok(all)
}

fn published_columns(table: &str, columns: &[Column]) -> Vec<PublishedColumn> {
    let visible = columns.iter().filter(|column| {
        let left_out = (table, column.name.as_str());
        !column.hidden && !COLUMNS_LEFT_OUT.contains(&left_out)
    });
    let shown = visible.map(|column| {
        let name = &column.name;
        let unpacked = UNPACKED.iter().find(|(packed, ..)| packed == name);
        PublishedColumn {
            name: name.clone(),
            doc: unpacked
                .map_or(column.doc.as_str(), |(.., doc)| doc)
                .to_owned(),
            unit: column.unit.clone(),
            sql: unpacked.map_or_else(|| quote_identifier(name), |(_, sql, _)| (*sql).to_owned()),
        }
    });
    shown.collect()
}

fn is_flat(column: &Column) -> bool {
    column.data_type().is_ok_and(|kind| !kind.is_nested())
}

impl PublishedRelation {
    /// Returns the query for its folders, with the partition columns as text.
    pub(super) fn folders_sql(&self) -> String {
        let names = self.partition.iter().map(|name| quote_identifier(name));
        let texts = names.map(|name| format!("CAST({name} AS VARCHAR) AS {name}"));
        let texts: Vec<String> = texts.collect();
        let places: Vec<String> = (1..=texts.len()).map(|place| place.to_string()).collect();
        format!(
            "SELECT DISTINCT {} FROM {} ORDER BY {}",
            texts.join(", "),
            quote_identifier(&self.name),
            places.join(", ")
        )
    }

    /// Returns the query for its row count.
    pub(super) fn count_sql(&self) -> String {
        format!(
            "SELECT count(*) AS rows FROM {}",
            quote_identifier(&self.name)
        )
    }

    pub(super) fn column(&self, name: &str) -> Option<&PublishedColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_tables_are_ordered_and_reported() {
        let all = published_relations().unwrap();
        let named = |name: &str| all.iter().find(|shown| shown.name == name);
        assert!(LEFT_OUT.iter().all(|name| named(name).is_none()));
        for shown in &all {
            assert!(!shown.order.is_empty(), "{}", shown.name);
            for name in &shown.order {
                assert!(shown.column(name).is_some(), "{}.{name}", shown.name);
            }
            for column in &shown.columns {
                let place = format!("{}.{}", shown.name, column.name);
                for name in ["`files", "`source_segments.", "`lines`", "`rejects`"] {
                    assert!(!column.doc.contains(name), "{place}: {name}");
                }
            }
        }
        let records = named("records").unwrap();
        assert!(records.column("repeats").is_none(), "packed");
    }

    #[test]
    fn what_is_left_out_is_there() {
        let (tables, views) = (schema::tables().unwrap(), schema::views().unwrap());
        for left_out in LEFT_OUT {
            let is_table = tables.iter().any(|table| table.sql_name() == left_out);
            assert!(
                is_table || views.iter().any(|view| view.name == left_out),
                "{left_out}"
            );
        }
        for (view, name) in COLUMNS_LEFT_OUT {
            let view = views.iter().find(|one| one.name == view).unwrap();
            assert!(view.columns.iter().any(|column| column.name == name));
        }
    }
}
