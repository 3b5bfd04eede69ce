//! Authentication of clients by their token.

use http::HeaderValue;
use tonic::metadata::MetadataMap;
use tonic::service::Interceptor;
use tonic::{Request, Status};
use tsql_cluster::Security;

/// Header with the token.
pub(crate) const AUTHORIZATION: &str = "authorization";

/// Rejects requests without the token.
#[derive(Clone)]
pub(crate) struct TokenCheck(pub(crate) Security);

impl Interceptor for TokenCheck {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        if self.0.admits(authorization(request.metadata()).as_ref()) {
            return Ok(request);
        }
        Err(Status::unauthenticated(
            "the token is missing or wrong\nhint: send the header `authorization: Bearer TOKEN`",
        ))
    }
}

fn authorization(metadata: &MetadataMap) -> Option<HeaderValue> {
    let value = metadata.get(AUTHORIZATION)?;
    HeaderValue::from_bytes(value.as_encoded_bytes()).ok()
}
