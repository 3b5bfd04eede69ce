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
mod listing;
pub mod shard;

use std::collections::HashMap;
use std::str::FromStr as _;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde::Deserialize;

use tsql_error::{Error, Result};

pub use listing::{FIRST_LISTED, column_rank, list_order};

/// Tables in commit order: referenced tables first, the ingest log (`source_segments`) after the data. An ingest does
/// not write the tables after it. Tables of retracted rows follow the tables that they were removed from.
const TABLES: [&str; 24] = [
    include_str!("../schemas/node_types.toml"),
    include_str!("../schemas/graphs.toml"),
    include_str!("../schemas/tasks.toml"),
    include_str!("../schemas/texts.toml"),
    include_str!("../schemas/samples.toml"),
    include_str!("../schemas/environments.toml"),
    include_str!("../schemas/configurations.toml"),
    include_str!("../schemas/lines.toml"),
    include_str!("../schemas/runs.toml"),
    include_str!("../schemas/records.toml"),
    include_str!("../schemas/retracted_runs.toml"),
    include_str!("../schemas/retracted.toml"),
    include_str!("../schemas/network_tasks.toml"),
    include_str!("../schemas/workloads.toml"),
    include_str!("../schemas/relays.toml"),
    include_str!("../schemas/spaces.toml"),
    include_str!("../schemas/source_segments.toml"),
    include_str!("../schemas/notes.toml"),
    include_str!("../schemas/platform_facts.toml"),
    include_str!("../schemas/subsets.toml"),
    include_str!("../schemas/splits.toml"),
    include_str!("../schemas/features.toml"),
    include_str!("../schemas/tags.toml"),
    include_str!("../schemas/corrections.toml"),
];

const VIEWS: [&str; 20] = [
    include_str!("../schemas/sources.toml"),
    include_str!("../schemas/files.toml"),
    include_str!("../schemas/labels.toml"),
    include_str!("../schemas/nodes.toml"),
    include_str!("../schemas/edges.toml"),
    include_str!("../schemas/blocks.toml"),
    include_str!("../schemas/block_members.toml"),
    include_str!("../schemas/rejects.toml"),
    include_str!("../schemas/metrics.toml"),
    include_str!("../schemas/metric_names.toml"),
    include_str!("../schemas/sample_nodes.toml"),
    include_str!("../schemas/tensors.toml"),
    include_str!("../schemas/checks.toml"),
    include_str!("../schemas/networks.toml"),
    include_str!("../schemas/computations.toml"),
    include_str!("../schemas/subset_members.toml"),
    include_str!("../schemas/split_units.toml"),
    include_str!("../schemas/platform_values.toml"),
    include_str!("../schemas/platforms.toml"),
    include_str!("../schemas/retractions.toml"),
];

/// Encoding of a stored column before zstd. Chosen by measurement: `docs/dev/decisions/030-log-sizes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Plain values.
    #[default]
    Plain,
    /// Dictionary of distinct values.
    Dictionary,
    /// Bit-packed differences, for ascending integers.
    Delta,
    /// All lengths, then all bytes, for short byte strings.
    Lengths,
    /// Byte stream split: the first bytes of all values, then the second bytes. For floats.
    Split,
}

/// One column of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// SQL name, with the unit as suffix if it has one.
    pub name: String,
    /// Arrow's name of the type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Unit of the values.
    pub unit: Option<String>,
    /// Whether it is nullable.
    #[serde(default)]
    pub null: bool,
    /// Hidden from the SQL view (available as `stored.<table>.<column>`).
    #[serde(default)]
    pub hidden: bool,
    /// Encoding in the Parquet file.
    #[serde(default)]
    pub encoding: Encoding,
    /// Read by many queries: decoding speed matters more than size.
    #[serde(default)]
    pub hot: bool,
    /// For a computed column: the expression over stored columns.
    pub sql: Option<String>,
    /// For a stored column: the expression that is shown in its place, because the stored value depends on the packing
    /// of the rows. The stored value is available as `stored.<table>.<column>`.
    pub shown_as: Option<String>,
    /// The referenced table, by its column of the same name.
    pub references: Option<String>,
    /// All possible values, if there are few.
    #[serde(default)]
    pub values: Vec<String>,
    /// Description.
    pub doc: String,
}

/// Foreign key: columns of the same names in another table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Columns, in both tables.
    pub columns: Vec<String>,
    /// Referenced table.
    pub to: String,
}

impl Column {
    /// Returns the Arrow type.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the schema file names an unknown Arrow type.
    pub fn data_type(&self) -> Result<DataType> {
        DataType::from_str(&self.type_name)
            .map_err(|error| Error::damaged(&self.name, error.to_string()))
    }
}

/// A table: its columns and their layout.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Name of its folder in the store. Also its SQL name unless [`Table::sql_name`] differs.
    #[serde(rename = "table")]
    pub name: String,
    /// SQL name, if it differs from the folder name.
    sql_name: Option<String>,
    /// Table whose columns precede its own columns.
    like: Option<String>,
    /// Schema version, added to the version of the `like` table. A store whose table has a higher version is not
    /// opened.
    pub version: i64,
    /// Description of a row.
    pub doc: String,
    /// Columns of the primary key.
    pub key: Vec<String>,
    /// Sort order within a file.
    pub sort: Vec<String>,
    /// Columns whose values are folder names.
    pub partition: Vec<String>,
    /// Pre-aggregates that are stored with the rows of a file.
    pub rollup: Option<Rollup>,
    /// References of several columns; see [`Table::references`].
    #[serde(rename = "reference", default)]
    several: Vec<Reference>,
    /// Columns that a narrow screen shows before all others, the most important one first.
    #[serde(default)]
    important: Vec<String>,
    /// All columns, in the order of `SELECT *`.
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
    #[serde(skip)]
    stored: Option<SchemaRef>,
}

/// Pre-aggregates in a data file: count, sum, minimum and maximum of the measures for each combination of the labels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollup {
    /// Stored columns with few distinct values: the labels. Partition columns are always labels.
    pub by: Vec<String>,
    /// Stored Float64 columns: the measures.
    pub of: Vec<String>,
}

/// A named query that can be read as a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// SQL name.
    #[serde(rename = "view")]
    pub name: String,
    /// View whose columns precede its own columns.
    like: Option<String>,
    /// Description of a row.
    pub doc: String,
    /// Sort order for results that need one: rows with equal values in these columns are equal in all columns. Default:
    /// all columns that are not lists.
    #[serde(default)]
    pub sort: Vec<String>,
    /// The query.
    pub sql: String,
    /// References of several columns; see [`View::references`].
    #[serde(rename = "reference", default)]
    several: Vec<Reference>,
    /// As for a table.
    #[serde(default)]
    important: Vec<String>,
    /// Output columns, in their order.
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
}

impl Table {
    /// Parses a table. `known` are the tables before it.
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

    /// Returns the SQL name.
    #[must_use]
    pub fn sql_name(&self) -> &str {
        self.sql_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns the references to other tables.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        references(&self.columns, &self.several)
    }

    /// Returns the columns that are written to files, including partition columns.
    pub fn stored_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.sql.is_none())
    }

    /// Returns the Arrow schema of a stored row, including partition columns, in the order of the TOML file.
    #[must_use]
    pub fn stored_schema(&self) -> SchemaRef {
        self.stored
            .clone()
            .unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// Returns the Arrow schema of the data files: stored columns without partition columns.
    #[must_use]
    pub fn file_schema(&self) -> SchemaRef {
        let stored = self.stored_schema();
        let fields = stored
            .fields()
            .iter()
            .filter(|field| !self.partition.contains(field.name()));
        Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
    }

    /// Returns the stored schema with view types for text and bytes. A sketch of many kilobytes that all rows of a
    /// graph share is then in memory once.
    pub fn row_schema(&self) -> SchemaRef {
        let fields = self.file_schema();
        let fields = fields.fields().iter().map(|field| view_field(field));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Returns the columns that SQL shows: all columns that are not hidden.
    pub fn shown_columns(&self) -> impl Iterator<Item = &Column> + Clone {
        self.columns.iter().filter(|column| !column.hidden)
    }

    /// Returns the stored column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.stored_columns().find(|column| column.name == name)
    }

    /// Returns the query of the table's SQL name: visible stored columns and computed columns.
    #[must_use]
    pub fn view_sql(&self) -> String {
        let columns = self.shown_columns().map(|column| {
            match column.sql.as_ref().or(column.shown_as.as_ref()) {
                Some(sql) => format!("{sql} AS {}", column.name),
                None => column.name.clone(),
            }
        });
        let columns: Vec<String> = columns.collect();
        let (columns, table) = (columns.join(", "), self.sql_name());
        format!("SELECT {columns} FROM stored.{table}")
    }
}

impl View {
    /// Parses a view. `known` are the views before it.
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

    /// Returns the references to tables.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        references(&self.columns, &self.several)
    }
}

/// Returns the references of single columns, then those of several columns.
fn references(columns: &[Column], several: &[Reference]) -> impl Iterator<Item = Reference> {
    let single = columns.iter().filter_map(|column| {
        Some(Reference {
            columns: vec![column.name.clone()],
            to: column.references.clone()?,
        })
    });
    single.chain(several.iter().cloned())
}

/// Returns the field with the engine's preferred type: views for text and bytes.
pub fn view_field(field: &Field) -> Field {
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

/// Returns all tables in commit order.
///
/// # Errors
/// [`Error::Damaged`] if a schema file breaks its own rules. A test prevents that.
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

/// Returns a table by its folder name or its SQL name.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
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

/// A table or view by SQL name.
#[derive(Clone, Copy, Debug)]
pub struct Relation {
    /// SQL name.
    pub name: &'static str,
    /// Description of a row.
    pub doc: &'static str,
    /// Columns, in the order of `SELECT *`, including hidden columns of tables.
    pub columns: &'static [Column],
    /// Columns that a narrow screen shows before all others, the most important one first.
    important: &'static [String],
    /// Whether it is a view.
    pub is_view: bool,
}

impl Relation {
    /// Returns the columns that SQL shows: all columns that are not hidden.
    pub fn shown_columns(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| !column.hidden)
    }
}

/// Returns all tables, then all views.
///
/// # Errors
/// As [`tables`] and [`views`].
pub fn relations() -> Result<impl Iterator<Item = Relation>> {
    let tables = tables()?.iter().map(|table| Relation {
        name: table.sql_name(),
        doc: &table.doc,
        columns: &table.columns,
        important: &table.important,
        is_view: false,
    });
    let views = views()?.iter().map(|view| Relation {
        name: &view.name,
        doc: &view.doc,
        columns: &view.columns,
        important: &view.important,
        is_view: true,
    });
    Ok(tables.chain(views))
}

/// Returns the table or view of this SQL name.
#[must_use]
pub fn relation(name: &str) -> Option<Relation> {
    let mut all = relations().into_iter().flatten();
    all.find(|relation| relation.name == name)
}

/// Returns the views, except those that show a single table.
///
/// # Errors
/// [`Error::Damaged`] if a schema file cannot be parsed.
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
