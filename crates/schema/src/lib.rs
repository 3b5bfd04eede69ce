#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a test fails by panicking"
    )
)]

pub mod column;
pub mod part;

use std::collections::HashMap;
use std::str::FromStr as _;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde::Deserialize;

use tsql_error::{Error, Result};

/// The tables in commit order: referenced tables first, the ingest log (`source_segments`) after the data. The
/// tables behind it are not written by an ingest. Tables of retracted rows come after the tables that they were removed from.
const TABLES: [&str; 22] = [
    include_str!("../../../schemas/node_types.toml"),
    include_str!("../../../schemas/graphs.toml"),
    include_str!("../../../schemas/tasks.toml"),
    include_str!("../../../schemas/texts.toml"),
    include_str!("../../../schemas/samples.toml"),
    include_str!("../../../schemas/environments.toml"),
    include_str!("../../../schemas/configurations.toml"),
    include_str!("../../../schemas/lines.toml"),
    include_str!("../../../schemas/runs.toml"),
    include_str!("../../../schemas/records.toml"),
    include_str!("../../../schemas/retracted_runs.toml"),
    include_str!("../../../schemas/retracted.toml"),
    include_str!("../../../schemas/network_tasks.toml"),
    include_str!("../../../schemas/workloads.toml"),
    include_str!("../../../schemas/relays.toml"),
    include_str!("../../../schemas/source_segments.toml"),
    include_str!("../../../schemas/notes.toml"),
    include_str!("../../../schemas/subsets.toml"),
    include_str!("../../../schemas/splits.toml"),
    include_str!("../../../schemas/features.toml"),
    include_str!("../../../schemas/tags.toml"),
    include_str!("../../../schemas/corrections.toml"),
];

const VIEWS: [&str; 16] = [
    include_str!("../../../schemas/sources.toml"),
    include_str!("../../../schemas/files.toml"),
    include_str!("../../../schemas/labels.toml"),
    include_str!("../../../schemas/nodes.toml"),
    include_str!("../../../schemas/edges.toml"),
    include_str!("../../../schemas/blocks.toml"),
    include_str!("../../../schemas/block_members.toml"),
    include_str!("../../../schemas/rejects.toml"),
    include_str!("../../../schemas/sample_nodes.toml"),
    include_str!("../../../schemas/tensors.toml"),
    include_str!("../../../schemas/checks.toml"),
    include_str!("../../../schemas/networks.toml"),
    include_str!("../../../schemas/computations.toml"),
    include_str!("../../../schemas/subset_members.toml"),
    include_str!("../../../schemas/split_units.toml"),
    include_str!("../../../schemas/retractions.toml"),
];

/// How a stored column is encoded before zstd. Chosen by measurement: `docs/dev/decisions/030-log-sizes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// As it is.
    #[default]
    Plain,
    /// Each distinct value once.
    Dictionary,
    /// Differences, bit-packed: rising integers.
    Delta,
    /// All lengths, then all bytes: short byte strings.
    Lengths,
    /// The first bytes of all values, then the second bytes: floats.
    Split,
}

/// One column of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its SQL name; ends in its unit where it has one.
    pub name: String,
    /// Arrow's own name of the type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Unit of the values.
    pub unit: Option<String>,
    /// May it be NULL?
    #[serde(default)]
    pub null: bool,
    /// Left out of the SQL view (reachable as `stored.<table>.<column>`).
    #[serde(default)]
    pub hidden: bool,
    /// Encoding in the Parquet file.
    #[serde(default)]
    pub encoding: Encoding,
    /// Many queries read it: how fast it is read counts more than a few bytes.
    #[serde(default)]
    pub hot: bool,
    /// For a computed column: the expression over stored columns.
    pub sql: Option<String>,
    /// For a stored column: the expression that is shown in its place, because what is stored depends
    /// on how rows were packed. As it is stored, it can be had as `stored.<table>.<column>`.
    pub shown_as: Option<String>,
    /// The table that it refers to, by its column of the same name.
    pub references: Option<String>,
    /// What it means.
    pub doc: String,
}

/// Rows of another table that columns refer to, by those of the same names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The columns, in both tables.
    pub columns: Vec<String>,
    /// The other table.
    pub to: String,
}

impl Column {
    /// The Arrow type.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the schema file names a type that Arrow does not know.
    pub fn data_type(&self) -> Result<DataType> {
        DataType::from_str(&self.type_name)
            .map_err(|error| Error::damaged(&self.name, error.to_string()))
    }
}

/// One table: its columns and how they are laid out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its folder in the store, and its SQL name unless it has another one: see [`Table::sql_name`].
    #[serde(rename = "table")]
    pub name: String,
    /// Its SQL name where this is not the name of its folder.
    sql_name: Option<String>,
    /// The table whose columns it has before its own.
    like: Option<String>,
    /// Version of these columns, counted on from that of the table that it is like; a store whose table has a higher
    /// one is not touched.
    pub version: i64,
    /// What one row is.
    pub doc: String,
    /// The columns that tell rows apart.
    pub key: Vec<String>,
    /// Sort order inside a file.
    pub sort: Vec<String>,
    /// Columns whose value is a folder name.
    pub partition: Vec<String>,
    /// The sums that are kept with the rows of a file.
    pub rollup: Option<Rollup>,
    /// References of several columns; see [`Table::references`].
    #[serde(rename = "reference", default)]
    several: Vec<Reference>,
    /// All columns, in the order of `SELECT *`.
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
    #[serde(skip)]
    stored: Option<SchemaRef>,
}

/// Sums that a data file keeps of its rows: how many, and sum, least and greatest of the measures,
/// for each combination of the labels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollup {
    /// Stored columns with few values: the labels. The partition columns are labels anyway.
    pub by: Vec<String>,
    /// Stored Float64 columns: the measures.
    pub of: Vec<String>,
}

/// A named query that reads like a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Its SQL name.
    #[serde(rename = "view")]
    pub name: String,
    /// The view whose columns it has before its own.
    like: Option<String>,
    /// What one row is.
    pub doc: String,
    /// The order of its rows where one is needed: rows that share these columns are the same in all. All columns
    /// that are no lists unless it is set.
    #[serde(default)]
    pub sort: Vec<String>,
    /// The query.
    pub sql: String,
    /// References of several columns; see [`View::references`].
    #[serde(rename = "reference", default)]
    several: Vec<Reference>,
    /// What it gives, in its order.
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
}

impl Table {
    /// Reads a table; `known` are those before it.
    fn parse(text: &str, known: &[Self]) -> Result<Self> {
        let mut table: Self =
            toml::from_str(text).map_err(|error| Error::damaged("schemas", error.to_string()))?;
        if let Some(like) = &table.like {
            let model = known.iter().find(|known| &known.name == like);
            let model =
                model.ok_or_else(|| Error::damaged(&table.name, format!("no table `{like}`")))?;
            table.version += model.version;
            table.columns.splice(0..0, model.columns.iter().cloned());
        }
        for column in &table.columns {
            let named = column
                .unit
                .as_ref()
                .is_none_or(|unit| column.name.ends_with(&format!("_{unit}")));
            if !named {
                let reason = format!("column `{}` does not end in its unit", column.name);
                return Err(Error::damaged(&table.name, reason));
            }
            column.data_type()?;
        }
        let summed = table.rollup.iter();
        let summed = summed.flat_map(|rollup| rollup.by.iter().chain(&rollup.of));
        let used = table.key.iter().chain(&table.sort).chain(&table.partition);
        for name in used.chain(summed) {
            if !table.stored_columns().any(|column| &column.name == name) {
                return Err(Error::damaged(
                    &table.name,
                    format!("no stored column `{name}`"),
                ));
            }
        }
        let fields: Result<Vec<Field>> = table.stored_columns().map(field).collect();
        table.stored = Some(Arc::new(Schema::new(fields?)));
        Ok(table)
    }

    /// Its name in SQL.
    #[must_use]
    pub fn sql_name(&self) -> &str {
        self.sql_name.as_deref().unwrap_or(&self.name)
    }

    /// What it refers to in other tables.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        references(&self.columns, &self.several)
    }

    /// The columns that are written to files (partition columns among them).
    pub fn stored_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.sql.is_none())
    }

    /// Arrow schema of a stored row, partition columns included, in the order of the TOML file.
    #[must_use]
    pub fn stored_schema(&self) -> SchemaRef {
        self.stored
            .clone()
            .unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// Arrow schema of the data files: the stored columns without the partition columns.
    #[must_use]
    pub fn file_schema(&self) -> SchemaRef {
        let stored = self.stored_schema();
        let fields = stored
            .fields()
            .iter()
            .filter(|field| !self.partition.contains(field.name()));
        Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
    }

    /// The same in the form in which rows are handled: text and bytes as views, so that a sketch of
    /// many kilobytes that all rows of a graph share is in memory once.
    pub fn row_schema(&self) -> SchemaRef {
        let fields = self.file_schema();
        let fields = fields.fields().iter().map(|field| viewed(field));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The columns that SQL shows: all but the hidden ones.
    pub fn shown_columns(&self) -> impl Iterator<Item = &Column> + Clone {
        self.columns.iter().filter(|column| !column.hidden)
    }

    /// The stored column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.stored_columns().find(|column| column.name == name)
    }

    /// The query behind the table's SQL name: visible stored columns and the computed ones.
    #[must_use]
    pub fn view_sql(&self) -> String {
        let columns: Vec<String> = self
            .shown_columns()
            .map(
                |column| match column.sql.as_ref().or(column.shown_as.as_ref()) {
                    Some(sql) => format!("{sql} AS {}", column.name),
                    None => column.name.clone(),
                },
            )
            .collect();
        format!(
            "SELECT {} FROM stored.{}",
            columns.join(", "),
            self.sql_name()
        )
    }
}

impl View {
    /// Reads a view; `known` are those before it.
    fn parse(text: &str, known: &[Self]) -> Result<Self> {
        let mut view: Self =
            toml::from_str(text).map_err(|error| Error::damaged("schemas", error.to_string()))?;
        if let Some(like) = &view.like {
            let model = known.iter().find(|known| &known.name == like);
            let model =
                model.ok_or_else(|| Error::damaged(&view.name, format!("no view `{like}`")))?;
            view.columns.splice(0..0, model.columns.iter().cloned());
        }
        Ok(view)
    }

    /// What it refers to in tables.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        references(&self.columns, &self.several)
    }
}

/// Those of single columns, then those of several.
fn references(columns: &[Column], several: &[Reference]) -> impl Iterator<Item = Reference> {
    let single = columns.iter().filter_map(|column| {
        Some(Reference {
            columns: vec![column.name.clone()],
            to: column.references.clone()?,
        })
    });
    single.chain(several.iter().cloned())
}

/// The engine's preferred form of a column.
pub fn viewed(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        other => other.clone(),
    };
    Field::new(field.name(), data_type, field.is_nullable())
}

fn field(column: &Column) -> Result<Field> {
    let mut metadata = HashMap::from([("comment".to_owned(), column.doc.clone())]);
    if let Some(unit) = &column.unit {
        metadata.insert("unit".to_owned(), unit.clone());
    }
    Ok(Field::new(&column.name, column.data_type()?, column.null).with_metadata(metadata))
}

/// All tables, in the order in which they are committed.
///
/// # Errors
/// [`Error::Damaged`] where a schema file breaks its own rules; a test keeps that from happening.
pub fn tables() -> Result<&'static [Table]> {
    static PARSED: OnceLock<Result<Vec<Table>, String>> = OnceLock::new();
    let parsed = PARSED.get_or_init(|| {
        let mut tables = Vec::with_capacity(TABLES.len());
        for text in TABLES {
            let table = Table::parse(text, &tables).map_err(|error| error.to_string())?;
            tables.push(table);
        }
        Ok(tables)
    });
    match parsed {
        Ok(tables) => Ok(tables),
        Err(reason) => Err(Error::damaged("schemas", reason.clone())),
    }
}

/// The table of this name, which is that of its folder or its SQL name.
///
/// # Errors
/// [`Error::Unknown`] where there is none.
pub fn table(name: &str) -> Result<&'static Table> {
    let tables = tables()?;
    tables
        .iter()
        .find(|table| table.name == name || table.sql_name() == name)
        .ok_or_else(|| Error::Unknown {
            kind: "table",
            name: name.to_owned(),
            known: tables
                .iter()
                .map(Table::sql_name)
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// A table or view by its name in SQL.
#[derive(Clone, Copy, Debug)]
pub struct Relation {
    /// Its SQL name.
    pub name: &'static str,
    /// What one row is.
    pub doc: &'static str,
    /// Its columns, in the order of `SELECT *`; hidden ones of tables among them.
    pub columns: &'static [Column],
    /// Whether it is a view.
    pub is_view: bool,
}

impl Relation {
    /// The columns that SQL shows: all but the hidden ones.
    pub fn shown_columns(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| !column.hidden)
    }
}

/// All tables, then all views.
///
/// # Errors
/// As [`tables`] and [`views`].
pub fn relations() -> Result<impl Iterator<Item = Relation>> {
    let tables = tables()?.iter().map(|table| Relation {
        name: table.sql_name(),
        doc: &table.doc,
        columns: &table.columns,
        is_view: false,
    });
    let views = views()?.iter().map(|view| Relation {
        name: &view.name,
        doc: &view.doc,
        columns: &view.columns,
        is_view: true,
    });
    Ok(tables.chain(views))
}

/// The table or view of this SQL name.
#[must_use]
pub fn relation(name: &str) -> Option<Relation> {
    let mut all = relations().into_iter().flatten();
    all.find(|relation| relation.name == name)
}

/// The views that are not simply one table.
///
/// # Errors
/// [`Error::Damaged`] where a schema file cannot be parsed.
pub fn views() -> Result<&'static [View]> {
    static PARSED: OnceLock<Result<Vec<View>, String>> = OnceLock::new();
    let parsed = PARSED.get_or_init(|| {
        let mut views = Vec::with_capacity(VIEWS.len());
        for text in VIEWS {
            let view = View::parse(text, &views).map_err(|error| error.to_string())?;
            views.push(view);
        }
        Ok(views)
    });
    match parsed {
        Ok(views) => Ok(views),
        Err(reason) => Err(Error::damaged("schemas", reason.clone())),
    }
}

#[cfg(test)]
mod tests;
