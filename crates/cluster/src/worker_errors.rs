//! Separates failures of a worker from failures of the query.
//!
//! A worker forwards the failure of another worker as text, so the marker is part of the text.

use std::error::Error as StdError;

use datafusion::common::DataFusionError;
use tonic::{Code, Status};
use url::Url;

/// Prefix of the error for an unresponsive worker, up to its URL.
const LOST_PREFIX: &str = "no answer from the worker ";

/// Returns the error, marked if the worker did not respond.
pub(super) fn mark_lost(worker: &Url, error: DataFusionError) -> DataFusionError {
    if lost_worker(&error).is_some() {
        // Another worker, which this one reported.
        return error;
    }
    match lost_reason(&error) {
        Some(reason) => lost_error(worker, &reason),
        None => error,
    }
}

/// Error for an unresponsive worker.
pub(super) fn lost_error(worker: &Url, reason: &str) -> DataFusionError {
    DataFusionError::Execution(format!("{LOST_PREFIX}{worker} ({reason})"))
}

/// Error of a worker that receives a request for the rows of a plan that it never received: the plan was lost
/// on the way.
const NO_PLAN: &str = "waiting for the plan to be set";

/// Error of a worker that cannot reach the bucket; other workers, or this machine, may reach it.
const NO_BUCKET: &str = "Generic S3 error";

/// Returns why a worker did not respond; `None` if the error is its response.
fn lost_reason(error: &DataFusionError) -> Option<String> {
    if error.message().contains(NO_PLAN) {
        return Some("its part of the query did not arrive".to_owned());
    }
    if error.message().contains(NO_BUCKET) {
        return Some("it cannot reach the bucket".to_owned());
    }
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(status) = error.downcast_ref::<Status>() {
            return reason_from_status(status);
        }
        if let Some(transport) = error.downcast_ref::<tonic::transport::Error>() {
            return Some(root_cause(transport));
        }
        next = match error.downcast_ref::<DataFusionError>() {
            // Its source is the source of the shared error.
            Some(DataFusionError::Shared(shared)) => Some(shared.as_ref()),
            _ => error.source(),
        };
    }
    None
}

fn reason_from_status(status: &Status) -> Option<String> {
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => None,
        _ => Some(
            status
                .source()
                .map_or_else(|| status.message().to_owned(), root_cause),
        ),
    }
}

/// Returns the root cause, which is the most specific: `connection refused`.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Returns the unresponsive worker, if that is why the query failed.
pub(super) fn lost_worker(error: &DataFusionError) -> Option<Url> {
    let text = error.to_string();
    let (_, rest) = text.split_once(LOST_PREFIX)?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    Url::parse(rest.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_worker_differs_from_one_that_rejects() {
        let worker = Url::parse("http://10.0.0.1:7700").unwrap();
        let of = |status: Status| mark_lost(&worker, DataFusionError::External(Box::new(status)));
        let gone = of(Status::unavailable("connection refused"));
        assert_eq!(lost_worker(&gone), Some(worker.clone()));
        // Forwarded by another worker, as text.
        let passed = DataFusionError::Execution(format!("Execution error: {gone}\nand more"));
        assert_eq!(lost_worker(&passed), Some(worker.clone()));
        assert_eq!(lost_worker(&of(Status::unauthenticated("token"))), None);
        let own = mark_lost(
            &worker,
            DataFusionError::Execution("division by zero".to_owned()),
        );
        assert_eq!(lost_worker(&own), None);
        let text = "Parquet error: Object Store error: Generic S3 error: Error performing GET";
        let bucket = mark_lost(&worker, DataFusionError::Execution(text.to_owned()));
        assert_eq!(lost_worker(&bucket), Some(worker.clone()));
        let asked = Url::parse("http://10.0.0.2:7700").unwrap();
        assert_eq!(
            lost_worker(&mark_lost(&asked, bucket)),
            Some(worker.clone())
        );
        let inner = DataFusionError::External(Box::new(Status::unknown("h2 protocol error")));
        let shared = DataFusionError::Shared(std::sync::Arc::new(inner));
        assert_eq!(lost_worker(&mark_lost(&worker, shared)), Some(worker));
    }
}
