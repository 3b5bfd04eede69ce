//! Connection pool: one connection for each worker, with keep-alive.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Request, StatusCode};
use http_body::Body as _;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::Service as _;
use url::Url;

use super::io_runtime::{KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT, io_runtime};
use super::security::Security;
use super::status::{STATUS_PATH, Status};
use super::worker_errors::{lost_error, mark_lost};

/// Timeout to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout of a status request.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum size of a status response.
const STATUS_BYTES: usize = 1 << 20;

/// Connections of a session to workers, or of a worker to other workers.
#[derive(Clone, Debug)]
pub struct Connections {
    security: Security,
    known: Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>,
}

impl Connections {
    /// Creates connections with these credentials.
    pub fn new(security: Security) -> Self {
        Self {
            security,
            known: Arc::default(),
        }
    }

    async fn channel(&self, worker: &Url) -> Result<BoxCloneSyncChannel> {
        if let Some(known) = self.lock_channels().get(worker) {
            return Ok(known.clone());
        }
        let wrong = |error: tonic::transport::Error| {
            DataFusionError::Configuration(format!("{worker}: {error}"))
        };
        let endpoint = Endpoint::from_shared(worker.to_string()).map_err(wrong)?;
        let mut endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true);
        if let Some(tls) = self.security.client_tls() {
            endpoint = endpoint.tls_config(tls).map_err(wrong)?;
        }
        let speaking = io_runtime().map_err(|error| DataFusionError::External(error.into()))?;
        let connected =
            async move { tokio::time::timeout(CONNECT_TIMEOUT, endpoint.connect()).await };
        let connected = speaking.spawn(connected).await;
        let channel = connected
            .map_err(|error| DataFusionError::External(error.into()))?
            .map_err(|_| lost_error(worker, "it accepts no connection"))?
            .map_err(|error| mark_lost(worker, DataFusionError::External(Box::new(error))))?;
        let shown = self.security.authorization().cloned();
        let channel = tower::util::MapRequest::new(channel, move |mut request: Request<Body>| {
            if let Some(shown) = &shown {
                request.headers_mut().insert(AUTHORIZATION, shown.clone());
            }
            request
        });
        let channel = BoxCloneSyncChannel::new(channel);
        self.lock_channels().insert(worker.clone(), channel.clone());
        Ok(channel)
    }

    fn lock_channels(&self) -> std::sync::MutexGuard<'_, HashMap<Url, BoxCloneSyncChannel>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the status of a worker.
    ///
    /// # Errors
    /// The worker does not respond, rejects the credentials, or is not a worker.
    pub(super) async fn query_status(&self, worker: &Url) -> Result<Status> {
        let asked = tokio::time::timeout(STATUS_TIMEOUT, self.fetch_status(worker)).await;
        let answer =
            asked.unwrap_or_else(|_| Err(lost_error(worker, "it does not report its status")));
        if answer.is_err() {
            self.lock_channels().remove(worker);
        }
        answer
    }

    async fn fetch_status(&self, worker: &Url) -> Result<Status> {
        let mut channel = self.channel(worker).await?;
        let failed = |error: tonic::transport::Error| {
            mark_lost(worker, DataFusionError::External(error.into()))
        };
        let is_none = |reason: &str| {
            DataFusionError::Execution(format!("{worker} is not a worker: {reason}"))
        };
        let request = Request::get(format!(
            "{}{STATUS_PATH}",
            worker.as_str().trim_end_matches('/')
        ));
        let request = request
            .body(Body::empty())
            .map_err(|error| is_none(&error.to_string()))?;
        poll_fn(|context| channel.poll_ready(context))
            .await
            .map_err(failed)?;
        let response = channel.call(request).await.map_err(failed)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED => {
                let reason = format!(
                    "{worker} rejects the token\n\
                     hint: set TSQL_TOKEN, or TSQL_TOKEN_FILE, to the token of the worker"
                );
                return Err(DataFusionError::Configuration(reason));
            }
            other => return Err(is_none(&format!("it responds with {other}"))),
        }
        let (mut body, mut text) = (response.into_body(), Vec::new());
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame.map_err(|error| lost_error(worker, &error.to_string()))?;
            if let Some(bytes) = frame.data_ref() {
                text.extend_from_slice(bytes);
            }
            if text.len() > STATUS_BYTES {
                return Err(is_none("its status is too long"));
            }
        }
        serde_json::from_slice(&text).map_err(|error| is_none(&error.to_string()))
    }
}

#[async_trait]
impl ChannelResolver for Connections {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let channel = self.channel(url).await?;
        Ok(Box::new(WorkerClient {
            worker: url.clone(),
            inner: create_worker_client(channel),
            known: Arc::clone(&self.known),
        }))
    }
}

/// Client of a worker that distinguishes lost connections from errors of the worker.
struct WorkerClient {
    worker: Url,
    inner: Box<dyn WorkerChannel>,
    known: Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>,
}

impl WorkerClient {
    fn error_marker(&self) -> impl Fn(DataFusionError) -> DataFusionError + Send + 'static {
        let (worker, known) = (self.worker.clone(), Arc::clone(&self.known));
        move |error| {
            let error = mark_lost(&worker, error);
            if super::worker_errors::lost_worker(&error).as_ref() == Some(&worker) {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.remove(&worker);
            }
            error
        }
    }
}

#[async_trait]
impl WorkerChannel for WorkerClient {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        set_plan_request: SetPlanRequest,
        c2w_stream: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let marking = self.error_marker();
        let opened = self.inner.coordinator_channel(
            headers,
            set_plan_request,
            c2w_stream,
            metrics,
            task_ctx,
        );
        let stream = opened.await.map_err(&marking)?;
        Ok(stream.map(move |message| message.map_err(&marking)).boxed())
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let marking = Arc::new(self.error_marker());
        let opened = self.inner.execute_task(headers, request, metrics, task_ctx);
        let streams = opened.await.map_err(marking.as_ref())?.into_iter();
        Ok(streams
            .map(|stream| {
                let marking = Arc::clone(&marking);
                stream
                    .map(move |batch| batch.map_err(marking.as_ref()))
                    .boxed()
            })
            .collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        let answer = self.inner.get_worker_info(request).await;
        answer.map_err(self.error_marker())
    }
}
