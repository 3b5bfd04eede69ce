//! What is published: the tables and views that SQL shows, but for what means nothing without the store.

use crate::error::Result;
use crate::schema::{self, Column};

/// What stays in the store, and why.
///
/// - `tags` name versions of the store, which a publication has not.
/// - What was retracted is not to count, and corrections speak of what is not there any more.
/// - `source_segments` says when which part of a file was ingested, from which path of which machine; `sources` says what
///   the files are. `files` is another name of it.
/// - `lines` and `texts` are there to give files back byte for byte; `rejects` shows the lines that were refused.
const LEFT_OUT: [&str; 11] = [
    "tags",
    "source_segments",
    "files",
    "lines",
    "texts",
    "retracted",
    "retracted_runs",
    "corrections",
    "retractions",
    "blocks",
    "block_members",
];

/// Columns that stay: those of the type of a node stand with the types, once; of sources the paths of a machine, and what
/// was corrected.
const COLUMNS_LEFT_OUT: [(&str, &str); 3] = [
    ("nodes", "features"),
    ("sources", "path"),
    ("sources", "first_platform"),
];

/// Columns that views show packed, and the expression by which they are plain.
const UNPACKED: [(&str, &str, &str); 1] = [(
    "features",
    "node_features(features)",
    "The 140 features of TpuGraphs, in the order of its paper's appendix and of its npz files.",
)];

/// What has a key though it is a view.
const SOURCES: &str = "sources";
const SOURCES_DOC: &str = "One row is one source: a file that records came from.";

/// A table or view as it is published.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) doc: String,
    /// What tells rows apart; empty where nobody says.
    pub(super) key: Vec<String>,
    /// Columns whose values are folders.
    pub(super) partition: Vec<String>,
    /// The order of the rows of a folder; the same for the same rows.
    pub(super) order: Vec<String>,
    pub(super) columns: Vec<ShownColumn>,
}

/// A column as it is published.
#[derive(Clone, Debug)]
pub(super) struct ShownColumn {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) unit: Option<String>,
    /// The expression that gives it.
    pub(super) sql: String,
}

/// All that is published where it has rows, in a fixed order: what others refer to first.
pub(super) fn all() -> Result<Vec<Shown>> {
    let mut all = Vec::new();
    for table in schema::tables()? {
        let order = [&table.sort, &table.key];
        let mut shown = Shown {
            name: table.sql_name().to_owned(),
            doc: table.doc.clone(),
            key: table.key.clone(),
            partition: table.partition.clone(),
            order: order.into_iter().flatten().cloned().collect(),
            columns: columns(table.sql_name(), &table.columns),
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
        all.push(Shown {
            columns: columns(&view.name, &view.columns),
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

fn columns(table: &str, columns: &[Column]) -> Vec<ShownColumn> {
    let visible = columns.iter().filter(|column| {
        let left_out = (table, column.name.as_str());
        !column.hidden && !COLUMNS_LEFT_OUT.contains(&left_out)
    });
    let shown = visible.map(|column| {
        let name = &column.name;
        let unpacked = UNPACKED.iter().find(|(packed, ..)| packed == name);
        ShownColumn {
            name: name.clone(),
            doc: unpacked
                .map_or(column.doc.as_str(), |(.., doc)| doc)
                .to_owned(),
            unit: column.unit.clone(),
            sql: unpacked.map_or_else(|| quoted(name), |(_, sql, _)| (*sql).to_owned()),
        }
    });
    shown.collect()
}

fn is_flat(column: &Column) -> bool {
    column.data_type().is_ok_and(|kind| !kind.is_nested())
}

impl Shown {
    /// The folders that it has, with the columns as text.
    pub(super) fn folders_sql(&self) -> String {
        let names = self.partition.iter().map(|name| quoted(name));
        let texts = names.map(|name| format!("CAST({name} AS VARCHAR) AS {name}"));
        let texts: Vec<String> = texts.collect();
        let places: Vec<String> = (1..=texts.len()).map(|place| place.to_string()).collect();
        format!(
            "SELECT DISTINCT {} FROM {} ORDER BY {}",
            texts.join(", "),
            quoted(&self.name),
            places.join(", ")
        )
    }

    /// How many rows it has.
    pub(super) fn count_sql(&self) -> String {
        format!("SELECT count(*) AS rows FROM {}", quoted(&self.name))
    }

    pub(super) fn column(&self, name: &str) -> Option<&ShownColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_ordered_and_told() {
        let all = all().unwrap();
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
