//! Responses of the protocol: descriptions of results, and streams of rows.

use std::pin::Pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::sql::ProstMessageExt;
use arrow_flight::{
    FlightData, FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, Ticket,
};
use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use prost::Message as _;
use tonic::{Request, Response, Status};

/// Stream of encoded rows.
pub(crate) type FlightStream = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// Describes a result. The client gets its rows with `ticket`.
pub(crate) fn flight_info(
    ticket: &impl ProstMessageExt,
    schema: &Schema,
    request: Request<FlightDescriptor>,
) -> Result<Response<FlightInfo>, Status> {
    let ticket = Ticket::new(ticket.as_any().encode_to_vec());
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(arrow_status)?;
    let endpoint = FlightEndpoint::new().with_ticket(ticket);
    Ok(Response::new(
        info.with_endpoint(endpoint)
            .with_descriptor(request.into_inner()),
    ))
}

/// Encodes rows as they arrive.
pub(crate) fn row_stream(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Response<FlightStream> {
    let encoded = FlightDataEncoderBuilder::new()
        .with_schema(schema)
        .build(batches);
    Response::new(encoded.map_err(Status::from).boxed())
}

/// Encodes the rows of a description.
pub(crate) fn one_batch(batch: RecordBatch) -> Response<FlightStream> {
    let schema = Arc::clone(batch.schema_ref());
    row_stream(schema, futures::stream::once(async { Ok(batch) }))
}

/// Encodes a schema, as prepared statements and descriptions of tables have it.
pub(crate) fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message: Result<IpcMessage, ArrowError> = SchemaAsIpc::new(schema, &options).try_into();
    message.map(|message| message.0).map_err(arrow_status)
}

pub(crate) fn arrow_status(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}
