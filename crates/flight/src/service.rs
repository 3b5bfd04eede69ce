//! Requests of the protocol.

use std::pin::Pin;

use arrow::array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, CommandGetCatalogs, CommandGetCrossReference,
    CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys, CommandGetPrimaryKeys,
    CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables, CommandGetXdbcTypeInfo,
    CommandPreparedStatementQuery, CommandPreparedStatementUpdate, CommandStatementIngest,
    CommandStatementQuery, CommandStatementUpdate, DoPutPreparedStatementResult, SqlInfo,
    TicketStatementQuery,
};
use arrow_flight::{
    Action, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse, Ticket,
};
use datafusion::common::ScalarValue;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use super::error_status::{rejected_write, status};
use super::keys::{foreign_key_schema, foreign_keys, primary_key_schema, primary_keys};
use super::prepared::{Statements, row_values};
use super::queries::{Queries, QuerySchemas};
use super::responses::{FlightStream, flight_info, one_batch, row_stream, schema_bytes};
use super::server_info::{ServerInfo, flight_status};
use super::tables;
use super::token::AUTHORIZATION;

type Info = Result<Response<FlightInfo>, Status>;
type Rows = Result<Response<FlightStream>, Status>;

/// Response to a handshake.
type HandshakeStream = Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>;

/// Handler of all requests.
pub(crate) struct Service {
    queries: Queries,
    statements: Statements,
    info: ServerInfo,
}

impl Service {
    pub(crate) fn new(queries: Queries) -> Result<Self, FlightError> {
        let (statements, info) = (Statements::default(), ServerInfo::new()?);
        Ok(Self {
            queries,
            statements,
            info,
        })
    }

    async fn describe(&self, sql: String) -> Result<QuerySchemas, Status> {
        let schemas = self.queries.describe(sql).await;
        schemas.map_err(|error| status(&error))
    }

    async fn run(&self, sql: String, values: Vec<ScalarValue>) -> Rows {
        let rows = self.queries.run(sql, values).await;
        let rows = rows.map_err(|error| status(&error))?;
        Ok(row_stream(rows.schema, rows.batches))
    }
}

#[tonic::async_trait]
impl FlightSqlService for Service {
    type FlightService = Self;

    /// The token was checked. Drivers send the header of this response with each request.
    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<HandshakeStream>, Status> {
        let header = request.metadata().get(AUTHORIZATION).cloned();
        let response = HandshakeResponse::default();
        let mut response = Response::new(futures::stream::once(async { Ok(response) }).boxed());
        if let Some(header) = header {
            response.metadata_mut().insert(AUTHORIZATION, header);
        }
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let schemas = self.describe(query.query.clone()).await?;
        // The ticket is the query itself, so that the server has no state to forget.
        let ticket = TicketStatementQuery {
            statement_handle: query.query.into(),
        };
        flight_info(&ticket, &schemas.result, request)
    }

    async fn do_get_statement(&self, ticket: TicketStatementQuery, _: Request<Ticket>) -> Rows {
        let sql = String::from_utf8(ticket.statement_handle.to_vec());
        let sql =
            sql.map_err(|_| Status::invalid_argument("the ticket is not from this server"))?;
        self.run(sql, Vec::new()).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let schemas = self.describe(query.query.clone()).await?;
        Ok(ActionCreatePreparedStatementResult {
            dataset_schema: schema_bytes(&schemas.result)?,
            parameter_schema: schema_bytes(&schemas.parameters)?,
            prepared_statement_handle: self.statements.open(query.query),
        })
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let data = request.into_inner().map_err(FlightError::from);
        let batches = FlightRecordBatchStream::new_from_flight_data(data);
        // Two rows suffice to reject several.
        let mut rows: Vec<RecordBatch> = Vec::new();
        let mut batches = std::pin::pin!(batches);
        while let Some(batch) = batches.next().await {
            rows.push(batch.map_err(flight_status)?);
            if rows.len() > 2 {
                break;
            }
        }
        let handle = query.prepared_statement_handle;
        self.statements.bind(&handle, row_values(&rows)?)?;
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: Some(handle),
        })
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let statement = self.statements.get(&query.prepared_statement_handle)?;
        let schemas = self.describe(statement.sql).await?;
        flight_info(&query, &schemas.result, request)
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        _: Request<Ticket>,
    ) -> Rows {
        let statement = self.statements.get(&query.prepared_statement_handle)?;
        self.run(statement.sql, statement.values).await
    }

    async fn do_action_close_prepared_statement(
        &self,
        query: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        self.statements.close(&query.prepared_statement_handle);
        Ok(())
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_catalogs(&self, query: CommandGetCatalogs, _: Request<Ticket>) -> Rows {
        tables::catalogs(query).map(one_batch)
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &query.clone().into_builder().schema(), request)
    }

    async fn do_get_schemas(&self, query: CommandGetDbSchemas, _: Request<Ticket>) -> Rows {
        tables::schemas(query).map(one_batch)
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &query.clone().into_builder().schema(), request)
    }

    async fn do_get_tables(&self, query: CommandGetTables, _: Request<Ticket>) -> Rows {
        tables::tables(&self.queries, query).await.map(one_batch)
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_table_types(&self, query: CommandGetTableTypes, _: Request<Ticket>) -> Rows {
        tables::table_types(query).map(one_batch)
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &self.info.abilities.schema(), request)
    }

    async fn do_get_sql_info(&self, query: CommandGetSqlInfo, _: Request<Ticket>) -> Rows {
        let info = query.into_builder(&self.info.abilities).build();
        info.map(one_batch).map_err(flight_status)
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &self.info.types.schema(), request)
    }

    async fn do_get_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        _: Request<Ticket>,
    ) -> Rows {
        let types = query.into_builder(&self.info.types).build();
        types.map(one_batch).map_err(flight_status)
    }

    async fn get_flight_info_primary_keys(
        &self,
        query: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &primary_key_schema(), request)
    }

    async fn do_get_primary_keys(&self, query: CommandGetPrimaryKeys, _: Request<Ticket>) -> Rows {
        primary_keys(&query).map(one_batch)
    }

    async fn get_flight_info_exported_keys(
        &self,
        query: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &foreign_key_schema(), request)
    }

    async fn do_get_exported_keys(&self, _: CommandGetExportedKeys, _: Request<Ticket>) -> Rows {
        Ok(one_batch(foreign_keys()))
    }

    async fn get_flight_info_imported_keys(
        &self,
        query: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &foreign_key_schema(), request)
    }

    async fn do_get_imported_keys(&self, _: CommandGetImportedKeys, _: Request<Ticket>) -> Rows {
        Ok(one_batch(foreign_keys()))
    }

    async fn get_flight_info_cross_reference(
        &self,
        query: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> Info {
        flight_info(&query, &foreign_key_schema(), request)
    }

    async fn do_get_cross_reference(
        &self,
        _: CommandGetCrossReference,
        _: Request<Ticket>,
    ) -> Rows {
        Ok(one_batch(foreign_keys()))
    }

    async fn do_put_statement_update(
        &self,
        _: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(rejected_write())
    }

    async fn do_put_statement_ingest(
        &self,
        _: CommandStatementIngest,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(rejected_write())
    }

    async fn do_put_prepared_statement_update(
        &self,
        _: CommandPreparedStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(rejected_write())
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
