//! Which failures are about a worker, and which about the question.
//!
//! A worker that asks another one passes its failure on as text: so it is marked in the text.

use std::error::Error as StdError;

use datafusion::common::DataFusionError;
use tonic::{Code, Status};
use url::Url;

/// What a worker that does not answer is told by, up to its URL.
const LOST: &str = "no answer from the worker ";

/// The same failure; marked where it is no answer of the worker but the lack of one.
pub(super) fn marked(worker: &Url, error: DataFusionError) -> DataFusionError {
    if lost_worker(&error).is_some() {
        // One behind it, which it has told.
        return error;
    }
    match why(&error) {
        Some(reason) => lost(worker, &reason),
        None => error,
    }
}

/// The failure of a worker that gives no answer.
pub(super) fn lost(worker: &Url, reason: &str) -> DataFusionError {
    DataFusionError::Execution(format!("{LOST}{worker} ({reason})"))
}

/// What a worker says that was asked for the rows of a plan which did not come: it was lost on the way.
const NO_PLAN: &str = "waiting for the plan to be set";

/// What a worker says whose bucket does not answer it: others, or this machine, may reach it.
const NO_BUCKET: &str = "Generic S3 error";

/// Why a worker gave no answer; `None` where the failure is its answer.
fn why(error: &DataFusionError) -> Option<String> {
    if error.message().contains(NO_PLAN) {
        return Some("its part of the question did not arrive".to_owned());
    }
    if error.message().contains(NO_BUCKET) {
        return Some("the bucket does not answer it".to_owned());
    }
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(status) = error.downcast_ref::<Status>() {
            return of_status(status);
        }
        if let Some(transport) = error.downcast_ref::<tonic::transport::Error>() {
            return Some(deepest(transport));
        }
        next = match error.downcast_ref::<DataFusionError>() {
            // Its source is the one of what is shared.
            Some(DataFusionError::Shared(shared)) => Some(shared.as_ref()),
            _ => error.source(),
        };
    }
    None
}

fn of_status(status: &Status) -> Option<String> {
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => None,
        _ => Some(
            status
                .source()
                .map_or_else(|| status.message().to_owned(), deepest),
        ),
    }
}

/// The first cause, which says most: `connection refused`.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The worker that gave no answer, if that is why the question failed.
pub(super) fn lost_worker(error: &DataFusionError) -> Option<Url> {
    let text = error.to_string();
    let (_, rest) = text.split_once(LOST)?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    Url::parse(rest.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_gone_is_told_from_one_that_refuses() {
        let worker = Url::parse("http://10.0.0.1:7700").unwrap();
        let of = |status: Status| marked(&worker, DataFusionError::External(Box::new(status)));
        let gone = of(Status::unavailable("connection refused"));
        assert_eq!(lost_worker(&gone), Some(worker.clone()));
        // Through another worker, as text.
        let passed = DataFusionError::Execution(format!("Execution error: {gone}\nand more"));
        assert_eq!(lost_worker(&passed), Some(worker.clone()));
        assert_eq!(lost_worker(&of(Status::unauthenticated("token"))), None);
        let own = marked(
            &worker,
            DataFusionError::Execution("division by zero".to_owned()),
        );
        assert_eq!(lost_worker(&own), None);
        let text = "Parquet error: Object Store error: Generic S3 error: Error performing GET";
        let bucket = marked(&worker, DataFusionError::Execution(text.to_owned()));
        assert_eq!(lost_worker(&bucket), Some(worker.clone()));
        let asked = Url::parse("http://10.0.0.2:7700").unwrap();
        assert_eq!(lost_worker(&marked(&asked, bucket)), Some(worker.clone()));
        let inner = DataFusionError::External(Box::new(Status::unknown("h2 protocol error")));
        let shared = DataFusionError::Shared(std::sync::Arc::new(inner));
        assert_eq!(lost_worker(&marked(&worker, shared)), Some(worker));
    }
}
