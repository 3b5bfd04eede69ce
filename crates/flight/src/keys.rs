//! Primary keys. Foreign keys are not listed: references of a store may have several targets.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::CommandGetPrimaryKeys;
use tonic::Status;
use tsql_schema as schema;

use super::error_status::status;
use super::responses::arrow_status;
use super::tables::{CATALOG, SCHEMA};

pub(crate) fn primary_key_schema() -> SchemaRef {
    let text = |name: &str, is_nullable| Field::new(name, DataType::Utf8, is_nullable);
    Arc::new(Schema::new(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        text("key_name", true),
        Field::new("key_sequence", DataType::Int32, false),
    ]))
}

pub(crate) fn primary_keys(command: &CommandGetPrimaryKeys) -> Result<RecordBatch, Status> {
    let tables = schema::tables().map_err(|error| status(&error))?;
    let mut found = tables.iter().filter(|table| {
        table.sql_name() == command.table
            && command
                .catalog
                .as_deref()
                .is_none_or(|catalog| catalog == CATALOG)
            && command
                .db_schema
                .as_deref()
                .is_none_or(|schema| schema == SCHEMA)
    });
    let columns = found
        .next()
        .map(|table| table.key.as_slice())
        .unwrap_or_default();
    let count = columns.len();
    let repeated = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; count])) };
    let names = columns.iter().map(String::as_str);
    let numbers = (1..).take(count);
    let arrays: Vec<ArrayRef> = vec![
        repeated(CATALOG),
        repeated(SCHEMA),
        repeated(&command.table),
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(StringArray::new_null(count)),
        Arc::new(numbers.collect::<Int32Array>()),
    ];
    RecordBatch::try_new(primary_key_schema(), arrays).map_err(arrow_status)
}

pub(crate) fn foreign_key_schema() -> SchemaRef {
    let text = |name: &str, is_nullable| Field::new(name, DataType::Utf8, is_nullable);
    Arc::new(Schema::new(vec![
        text("pk_catalog_name", true),
        text("pk_db_schema_name", true),
        text("pk_table_name", false),
        text("pk_column_name", false),
        text("fk_catalog_name", true),
        text("fk_db_schema_name", true),
        text("fk_table_name", false),
        text("fk_column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        Field::new("update_rule", DataType::UInt8, false),
        Field::new("delete_rule", DataType::UInt8, false),
    ]))
}

pub(crate) fn foreign_keys() -> RecordBatch {
    RecordBatch::new_empty(foreign_key_schema())
}
