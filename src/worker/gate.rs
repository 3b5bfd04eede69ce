//! What stands before the engine: who may ask, whether anything new is taken, and what is counted.

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

use super::counters::Counters;
use super::panics;
use super::question::{Questions, Running};
use crate::cluster::{STATUS_PATH, Security};

/// Header with the number of the question that a plan belongs to: set here, whatever came in it.
pub(super) const QUESTION: &str = "x-tsql-question";

/// A plan, and the stream that lasts as long as its question.
const PLAN: &str = "/worker.WorkerService/CoordinatorChannel";

const HEALTH_PATH: &str = "/health";
const METRICS_PATH: &str = "/metrics";

/// Pause between looks at whether all is done.
const LOOK: Duration = Duration::from_millis(20);

/// Looks at which nothing ran, until nothing is expected to come.
const IDLE_LOOKS: u32 = 10;

/// What stands before the engine.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    security: Security,
    questions: Questions,
    counters: Arc<Counters>,
    /// Where questions are computed.
    computing: Handle,
}

impl Gate {
    /// Questions are computed where this is called.
    pub(super) fn new(security: Security, questions: Questions, counters: Arc<Counters>) -> Self {
        Self {
            security,
            questions,
            counters,
            computing: Handle::current(),
        }
    }

    /// Says that it stops, so that no question begins here any more, and waits for those that have: their parts come
    /// one after the other.
    pub(super) async fn stop(&self, grace: Duration) {
        self.counters.stopping.store(true, Ordering::Relaxed);
        let begin = Instant::now();
        let mut idle = 0;
        while idle < IDLE_LOOKS && begin.elapsed() < grace {
            tokio::time::sleep(LOOK).await;
            idle = if self.questions.count() == 0 {
                idle + 1
            } else {
                0
            };
        }
    }

    /// The answer to what is no question; `None` for one.
    fn plain(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let stopping = self.counters.stopping.load(Ordering::Relaxed);
        let path = request.uri().path();
        if path == HEALTH_PATH {
            let code = if stopping {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::OK
            };
            let text = if stopping { "stopping\n" } else { "ok\n" };
            return Some(text_of(code, "text/plain", text.to_owned()));
        }
        if !self.security.admits(request.headers().get(AUTHORIZATION)) {
            self.counters.refused.fetch_add(1, Ordering::Relaxed);
            let mut response = Status::unauthenticated("another token is wanted").into_http();
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
                Some(text_of(StatusCode::OK, "application/json", status))
            }
            METRICS_PATH => {
                let kind = "text/plain; version=0.0.4";
                Some(text_of(StatusCode::OK, kind, self.counters.text(running)))
            }
            _ => None,
        }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

fn text_of(code: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::new(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        Gated {
            gate: self.clone(),
            inner,
        }
    }
}

/// The engine behind the gate.
#[derive(Clone, Debug)]
pub(super) struct Gated<S> {
    gate: Gate,
    inner: S,
}

impl<S> Service<Request<Body>> for Gated<S>
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
        if let Some(answer) = self.gate.plain(&request) {
            return async { Ok(answer) }.boxed();
        }
        // The one that is ready is taken, a clone of it need not be.
        let clone = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, clone);
        let counters = Arc::clone(&self.gate.counters);
        let request = self.gate.begun(request);
        let computing = self.gate.computing.clone();
        let panics = panics::so_far();
        async move {
            let mut tasks = JoinSet::new();
            tasks.spawn_on(async move { ready.call(request).await }, &computing);
            let answered = match tasks.join_next().await {
                Some(Ok(answered)) => answered?,
                // A panic: the question fails, the worker goes on.
                _ => Status::internal("the worker failed over this plan").into_http(),
            };
            let counted = failed(answered.headers());
            counters
                .failed
                .fetch_add(u64::from(counted), Ordering::Relaxed);
            Ok(answered.map(|inner| {
                Body::new(Ending {
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
    /// A plan begins a part of a question, which lasts as long as the stream that it comes in.
    fn begun(&self, mut request: Request<Body>) -> Request<Body> {
        request.headers_mut().remove(QUESTION);
        if request.uri().path() != PLAN {
            return request;
        }
        let running = self.questions.begin();
        self.counters.taken.fetch_add(1, Ordering::Relaxed);
        let number = HeaderValue::from(running.number());
        request.headers_mut().insert(QUESTION, number);
        request.map(|inner| {
            let running = Some(running);
            Body::new(Lasting { inner, running })
        })
    }
}

/// Did the engine answer with an error?
fn failed(headers: &HeaderMap) -> bool {
    let code = headers.get("grpc-status").map(HeaderValue::as_bytes);
    code.is_some_and(|code| code != b"0")
}

/// A stream that keeps a question running until it ends, or breaks.
struct Lasting {
    inner: Body,
    running: Option<Running>,
}

impl http_body::Body for Lasting {
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

/// An answer, whose end is looked at.
struct Ending {
    inner: Body,
    counters: Arc<Counters>,
    /// Panics before it began.
    panics: u64,
}

impl http_body::Body for Ending {
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
        if failed(trailers) {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
        } else if panics::so_far() != self.panics {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
            let reason = "a part of a question failed unforeseen, and rows may be missing";
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

    /// The end of an answer.
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
    async fn an_answer_during_which_something_panicked_is_no_answer() {
        panics::count();
        let (runtime, _) = crate::query::runtime(None).unwrap();
        let counters = Arc::new(Counters::new(String::new(), Vec::new(), runtime, None));
        let mut done = HeaderMap::new();
        done.insert("grpc-status", HeaderValue::from_static("0"));
        let mut ending = Ending {
            inner: Body::new(End(Some(done))),
            counters: Arc::clone(&counters),
            panics: panics::so_far(),
        };
        let panicked = tokio::spawn(async { panic!("for a test") }).await;
        assert!(panicked.is_err());
        let end = poll_fn(|context| Pin::new(&mut ending).poll_frame(context)).await;
        let told = end.unwrap().unwrap_err();
        assert!(told.message().contains("missing"), "{told}");
        assert_eq!(counters.failed.load(Ordering::Relaxed), 1);
    }
}
