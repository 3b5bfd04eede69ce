//! Catalogs, schemas and tables.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables,
};
use tonic::Status;
use tsql_schema as schema;

use super::error_status::status;
use super::queries::Queries;
use super::server_info::flight_status;

/// Catalog of all tables, as SQL names it.
pub(crate) const CATALOG: &str = "tsql";

/// Schema of all tables.
pub(crate) const SCHEMA: &str = "public";

const TABLE: &str = "TABLE";
const VIEW: &str = "VIEW";

pub(crate) fn catalogs(command: CommandGetCatalogs) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    builder.append(CATALOG);
    builder.build().map_err(flight_status)
}

pub(crate) fn schemas(command: CommandGetDbSchemas) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    builder.append(CATALOG, SCHEMA);
    builder.build().map_err(flight_status)
}

pub(crate) fn table_types(command: CommandGetTableTypes) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    builder.append(TABLE);
    builder.append(VIEW);
    builder.build().map_err(flight_status)
}

/// Returns the tables and views that match, with their columns if the client wants them.
pub(crate) async fn tables(
    queries: &Queries,
    command: CommandGetTables,
) -> Result<RecordBatch, Status> {
    let relations = schema::relations().map_err(|error| status(&error))?;
    let mut names: Vec<(String, bool)> = relations
        .map(|relation| (relation.name.to_owned(), relation.is_view))
        .collect();
    names.sort();
    let empty: SchemaRef = Arc::new(arrow::datatypes::Schema::empty());
    let schemas = if command.include_schema {
        let names = names.iter().map(|(name, _)| name.clone()).collect();
        let schemas = queries.table_schemas(names).await;
        schemas.map_err(|error| status(&error))?
    } else {
        let schemas = names
            .iter()
            .map(|(name, _)| (name.clone(), Arc::clone(&empty)));
        schemas.collect()
    };
    let mut builder = command.into_builder();
    for ((name, schema), (_, is_view)) in schemas.iter().zip(&names) {
        let kind = if *is_view { VIEW } else { TABLE };
        builder
            .append(CATALOG, SCHEMA, name, kind, schema)
            .map_err(flight_status)?;
    }
    builder.build().map_err(flight_status)
}
