//! Requests that this process has made of object stores, counted where they leave it; short answers
//! arrive whole or count as lost.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use super::waiting::Waiting;

/// Status of a server that wants to be asked less often.
const TOO_MANY_REQUESTS: u16 = 429;

/// Requests to object stores so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Reads of objects or parts of them.
    pub get: u64,
    /// Questions about an object's size.
    pub head: u64,
    /// Pages of listings.
    pub list: u64,
    /// Writes, parts of large ones among them.
    pub put: u64,
    /// Deletions and the requests that begin and end large writes.
    pub other: u64,
    /// Bytes of answers, as announced.
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

/// Requests that this process has made of object stores, repeated ones among them.
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

/// Connections whose requests are counted, to a server that is waited for.
#[derive(Debug)]
pub(super) struct Counted(pub(super) Arc<Waiting>);

impl HttpConnector for Counted {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        let waiting = Arc::clone(&self.0);
        Ok(HttpClient::new(Counting { inner, waiting }))
    }
}

/// An answer that breaks off, which `object_store` asks for again where nothing can be done twice.
fn interrupted(error: HttpError) -> HttpError {
    HttpError::new(HttpErrorKind::Interrupted, error)
}

/// Will it be asked for again?
fn is_passing(error: &HttpError) -> bool {
    use HttpErrorKind::{Connect, Interrupted, Request, Timeout};
    matches!(error.kind(), Connect | Request | Timeout | Interrupted)
}

/// What lies at the bottom of an error.
fn cause(error: &HttpError) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[derive(Debug)]
struct Counting {
    inner: HttpClient,
    waiting: Arc<Waiting>,
}

impl Counting {
    /// The answer of a server that may be out for a while; what is waited for in vain is an error that is
    /// not asked for again.
    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match self.inner.execute(request).await {
            Ok(response) => {
                let status = response.status();
                if !status.is_server_error() && status.as_u16() != TOO_MANY_REQUESTS {
                    self.waiting.answered();
                } else if !self.waiting.failed(&status) {
                    let body = response.into_body().bytes().await.unwrap_or_default();
                    let text = String::from_utf8_lossy(&body);
                    let given_up = io::Error::other(format!("{status} {text}"));
                    return Err(HttpError::new(HttpErrorKind::Unknown, given_up));
                }
                Ok(response)
            }
            Err(error) if is_passing(&error) && !self.waiting.failed(&cause(&error)) => {
                Err(HttpError::new(HttpErrorKind::Unknown, error))
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait::async_trait]
impl HttpService for Counting {
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
        let response = self.answer(request).await?;
        let length = response.headers().get("content-length");
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if !no_body {
            BYTES_IN.fetch_add(length.unwrap_or(0), Ordering::Relaxed);
        }
        if is_read && response.status().is_success() {
            // It comes bit by bit; where it breaks off, the rest is asked for.
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = body.bytes().await.map_err(interrupted)?;
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}
