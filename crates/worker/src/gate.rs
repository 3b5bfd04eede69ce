//! Middleware in front of the engine: authentication, shutdown and counters.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};
use tsql_cluster::{STATUS_PATH, Security};

use super::counters::Counters;
use super::panics;
use super::running_queries::{QueryGuard, RunningQueries};

/// Request header with the number of the query that a plan belongs to. The gate sets it and discards any value
/// from the client.
pub(super) const QUERY_HEADER: &str = "x-tsql-question";

/// gRPC path of a plan. Its request stream lasts as long as the query.
const PLAN_PATH: &str = "/worker.WorkerService/CoordinatorChannel";

const HEALTH_PATH: &str = "/health";
const METRICS_PATH: &str = "/metrics";

/// Pause between checks for running queries during shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Number of consecutive idle checks after which no further plan is expected.
const IDLE_POLLS: u32 = 10;

/// Middleware in front of the engine.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    security: Security,
    questions: RunningQueries,
    counters: Arc<Counters>,
    /// Runtime that computes queries.
    computing: Handle,
}

impl Gate {
    /// Creates a gate. Queries run on the runtime that calls this function.
    pub(super) fn new(
        security: Security,
        questions: RunningQueries,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            security,
            questions,
            counters,
            computing: Handle::current(),
        }
    }

    /// Reports that the worker is stopping, so that no new query starts here. Then waits for running queries,
    /// whose stages arrive one after the other.
    pub(super) async fn drain(&self, grace: Duration) {
        self.counters.stopping.store(true, Ordering::Relaxed);
        let begin = Instant::now();
        let mut idle = 0;
        while idle < IDLE_POLLS && begin.elapsed() < grace {
            tokio::time::sleep(POLL_INTERVAL).await;
            idle = if self.questions.count() == 0 {
                idle + 1
            } else {
                0
            };
        }
    }

    /// Returns the response to any request that is not a query; `None` for a query.
    fn respond_directly(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let stopping = self.counters.stopping.load(Ordering::Relaxed);
        let path = request.uri().path();
        if path == HEALTH_PATH {
            let code = if stopping {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::OK
            };
            let text = if stopping { "stopping\n" } else { "ok\n" };
            return Some(text_response(code, "text/plain", text.to_owned()));
        }
        if !self.security.admits(request.headers().get(AUTHORIZATION)) {
            self.counters.rejected.fetch_add(1, Ordering::Relaxed);
            let mut response = Status::unauthenticated("the token is missing or wrong").into_http();
            if !is_grpc(request.headers()) {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
            }
            return Some(response);
        }
        let running = self.questions.count();
        match path {
            STATUS_PATH => {
                let status = serde_json::to_string(&self.counters.status(running));
                let status = status.unwrap_or_default();
                Some(text_response(StatusCode::OK, "application/json", status))
            }
            METRICS_PATH => {
                let kind = "text/plain; version=0.0.4";
                Some(text_response(
                    StatusCode::OK,
                    kind,
                    self.counters.prometheus_text(running),
                ))
            }
            _ => None,
        }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

fn text_response(code: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::new(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl<S> Layer<S> for Gate {
    type Service = GatedService<S>;

    fn layer(&self, inner: S) -> GatedService<S> {
        GatedService {
            gate: self.clone(),
            inner,
        }
    }
}

/// The engine's service behind the gate.
#[derive(Clone, Debug)]
pub(super) struct GatedService<S> {
    gate: Gate,
    inner: S,
}

impl<S> Service<Request<Body>> for GatedService<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Some(answer) = self.gate.respond_directly(&request) {
            return async { Ok(answer) }.boxed();
        }
        // Uses the service that is ready; a clone of it may not be.
        let clone = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, clone);
        let counters = Arc::clone(&self.gate.counters);
        let request = self.gate.register_query(request);
        let computing = self.gate.computing.clone();
        let panics = panics::panic_count();
        async move {
            let mut tasks = JoinSet::new();
            tasks.spawn_on(async move { ready.call(request).await }, &computing);
            let answered = match tasks.join_next().await {
                Some(Ok(answered)) => answered?,
                // A panic: the query fails, and the worker goes on.
                _ => Status::internal("the worker panicked on this plan").into_http(),
            };
            let counted = is_grpc_error(answered.headers());
            counters
                .failed
                .fetch_add(u64::from(counted), Ordering::Relaxed);
            Ok(answered.map(|inner| {
                Body::new(ResponseBody {
                    inner,
                    counters,
                    panics,
                })
            }))
        }
        .boxed()
    }
}

impl Gate {
    /// Registers a query for the lifetime of the request stream.
    fn register_query(&self, mut request: Request<Body>) -> Request<Body> {
        request.headers_mut().remove(QUERY_HEADER);
        if request.uri().path() != PLAN_PATH {
            return request;
        }
        let running = self.questions.begin();
        self.counters.started.fetch_add(1, Ordering::Relaxed);
        let number = HeaderValue::from(running.number());
        request.headers_mut().insert(QUERY_HEADER, number);
        request.map(|inner| {
            let running = Some(running);
            Body::new(RequestBody { inner, running })
        })
    }
}

/// Returns true if the engine responded with an error.
fn is_grpc_error(headers: &HeaderMap) -> bool {
    let code = headers.get("grpc-status").map(HeaderValue::as_bytes);
    code.is_some_and(|code| code != b"0")
}

/// A request body that keeps a query running until it ends or breaks.
struct RequestBody {
    inner: Body,
    running: Option<QueryGuard>,
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = &polled {
            self.running = None;
        }
        polled
    }
}

/// A response body whose trailers are checked.
struct ResponseBody {
    inner: Body,
    counters: Arc<Counters>,
    /// Panic count at the start of the response.
    panics: u64,
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        let Poll::Ready(Some(Ok(frame))) = polled else {
            return polled;
        };
        let Some(trailers) = frame.trailers_ref() else {
            return Poll::Ready(Some(Ok(frame)));
        };
        if is_grpc_error(trailers) {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
        } else if panics::panic_count() != self.panics {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
            let reason = "the worker panicked, and rows may be missing";
            return Poll::Ready(Some(Err(Status::internal(reason))));
        }
        Poll::Ready(Some(Ok(frame)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use http_body::Body as _;

    use super::*;

    /// A response body that ends at once.
    struct End(Option<HeaderMap>);

    impl http_body::Body for End {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.take().map(Frame::trailers).map(Ok))
        }
    }

    #[tokio::test]
    async fn a_result_after_a_panic_is_an_error() {
        panics::install_counting_hook();
        let (runtime, _) = tsql_engine::build_runtime(None).unwrap();
        let counters = Arc::new(Counters::new(String::new(), Vec::new(), runtime, None));
        let mut done = HeaderMap::new();
        done.insert("grpc-status", HeaderValue::from_static("0"));
        let mut ending = ResponseBody {
            inner: Body::new(End(Some(done))),
            counters: Arc::clone(&counters),
            panics: panics::panic_count(),
        };
        let panicked = tokio::spawn(async { panic!("for a test") }).await;
        assert!(panicked.is_err());
        let end = poll_fn(|context| Pin::new(&mut ending).poll_frame(context)).await;
        let told = end.unwrap().unwrap_err();
        assert!(told.message().contains("missing"), "{told}");
        assert_eq!(counters.failed.load(Ordering::Relaxed), 1);
    }
}
