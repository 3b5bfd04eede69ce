//! Counters of the requests of this process to object stores. Small response bodies are read completely, so an
//! interruption is reported before use.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use super::retry::ServerRetries;

/// HTTP status "Too Many Requests".
const TOO_MANY_REQUESTS: u16 = 429;

/// Number of requests to object stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Reads of objects or ranges.
    pub get: u64,
    /// Requests for the size of an object.
    pub head: u64,
    /// Pages of listings.
    pub list: u64,
    /// Writes, including parts of multipart uploads.
    pub put: u64,
    /// Deletions, and requests that start and complete multipart uploads.
    pub other: u64,
    /// Bytes of responses, as announced.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            get,
            head,
            list,
            put,
            other,
            bytes_in,
            bytes_out,
        } = self;
        write!(
            formatter,
            "{get} GET, {head} HEAD, {list} LIST, {put} PUT, {other} other; {bytes_in} bytes in, {bytes_out} out"
        )
    }
}

static GET: AtomicU64 = AtomicU64::new(0);
static HEAD: AtomicU64 = AtomicU64::new(0);
static LIST: AtomicU64 = AtomicU64::new(0);
static PUT: AtomicU64 = AtomicU64::new(0);
static OTHER: AtomicU64 = AtomicU64::new(0);
static BYTES_IN: AtomicU64 = AtomicU64::new(0);
static BYTES_OUT: AtomicU64 = AtomicU64::new(0);

/// Returns the request counters of this process. Retries are included.
#[must_use]
pub fn traffic() -> Traffic {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Traffic {
        get: count(&GET),
        head: count(&HEAD),
        list: count(&LIST),
        put: count(&PUT),
        other: count(&OTHER),
        bytes_in: count(&BYTES_IN),
        bytes_out: count(&BYTES_OUT),
    }
}

/// Connector that counts requests and tracks server outages.
#[derive(Debug)]
pub(super) struct CountingConnector(pub(super) Arc<ServerRetries>);

impl HttpConnector for CountingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        let waiting = Arc::clone(&self.0);
        Ok(HttpClient::new(CountingService { inner, waiting }))
    }
}

/// Marks a response as interrupted, so `object_store` retries it if the request is idempotent.
fn interrupted_error(error: HttpError) -> HttpError {
    HttpError::new(HttpErrorKind::Interrupted, error)
}

/// Returns whether `object_store` retries the error.
fn is_retryable(error: &HttpError) -> bool {
    use HttpErrorKind::{Connect, Interrupted, Request, Timeout};
    matches!(error.kind(), Connect | Request | Timeout | Interrupted)
}

/// Returns the root cause of an error.
fn root_cause(error: &HttpError) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[derive(Debug)]
struct CountingService {
    inner: HttpClient,
    waiting: Arc<ServerRetries>,
}

impl CountingService {
    /// Sends a request, and tracks outages of the server. After the retry timeout, the error is not retryable.
    async fn send_with_retries(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match self.inner.execute(request).await {
            Ok(response) => {
                let status = response.status();
                if !status.is_server_error() && status.as_u16() != TOO_MANY_REQUESTS {
                    self.waiting.record_success();
                } else if !self.waiting.record_failure(&status) {
                    let body = response.into_body().bytes().await.unwrap_or_default();
                    let text = String::from_utf8_lossy(&body);
                    let given_up = io::Error::other(format!("{status} {text}"));
                    return Err(HttpError::new(HttpErrorKind::Unknown, given_up));
                }
                Ok(response)
            }
            Err(error)
                if is_retryable(&error) && !self.waiting.record_failure(&root_cause(&error)) =>
            {
                Err(HttpError::new(HttpErrorKind::Unknown, error))
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait::async_trait]
impl HttpService for CountingService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let lists = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("list-type="));
        let counter = match request.method().as_str() {
            "GET" if lists => &LIST,
            "GET" => &GET,
            "HEAD" => &HEAD,
            "PUT" => &PUT,
            "PROPFIND" => &LIST,
            _ => &OTHER,
        };
        let no_body = request.method().as_str() == "HEAD";
        let is_read = request.method().as_str() == "GET" && !lists;
        counter.fetch_add(1, Ordering::Relaxed);
        BYTES_OUT.fetch_add(request.body().content_length() as u64, Ordering::Relaxed);
        let response = self.send_with_retries(request).await?;
        let length = response.headers().get("content-length");
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if !no_body {
            BYTES_IN.fetch_add(length.unwrap_or(0), Ordering::Relaxed);
        }
        if is_read && response.status().is_success() {
            // The body is streamed. After an interruption, `object_store` requests the rest.
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = body.bytes().await.map_err(interrupted_error)?;
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}
