//! Remote stores: in a bucket (`s3://bucket/prefix`), or read-only on a web server (`https://`).
//!
//! ```text
//! request ─▶ Remote ─▶ object_store ─▶ HTTP requests, counted (traffic)
//!               ├ tails of data files from the local disk (tail_cache)
//!               ├ retries during server outages (retry)
//!               ├ writes only if the bucket is safe (guard, probe)
//!               └ listings for servers without them (web)
//! ```

#[cfg_attr(not(feature = "s3"), path = "no_bucket.rs")]
mod bucket;
mod cache;
#[cfg(feature = "s3")]
mod credentials;
mod guard;
mod probe;
mod retry;
#[cfg(feature = "s3")]
mod settings;
mod tail_cache;
mod traffic;
mod web;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::client::ClientConfigKey;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use url::Url;

use crate::log_files::entries;
use guard::WriteGuard;
use retry::ServerRetries;
use tail_cache::{LOG_BYTES, TAIL_BYTES, TailCache};
use traffic::CountingConnector;
use tsql_error as error;

pub use probe::{ProbeResult, ProbeVerdict};
pub use retry::set_retry_timeout;
pub use retry::{are_retries_stopped, set_retry_reporter, stop_retries};
pub use traffic::{Traffic, traffic};

/// URL schemes of web servers.
const WEB: [&str; 2] = ["http", "https"];

/// All URL schemes of remote stores.
pub const SCHEMES: [&str; 3] = ["s3", "http", "https"];

/// A remote object store.
#[derive(Debug)]
pub(crate) struct Remote {
    inner: Arc<dyn ObjectStore>,
    tails: Arc<TailCache>,
    guard: WriteGuard,
    /// Whether it is a web server, without listings and writes.
    is_web: bool,
}

/// Returns the objects of the bucket or web server of `url`, for files outside of a store.
pub async fn objects_at(url: &Url) -> error::Result<Arc<dyn ObjectStore>> {
    Ok(Remote::open(url).await?.inner)
}

impl Remote {
    /// Opens the bucket or web server of `url`.
    pub(crate) async fn open(url: &Url) -> error::Result<Self> {
        if !url.username().is_empty() || url.password().is_some() {
            // The URL is not repeated, because the message may be logged.
            let reason = "the URL has a user or a secret, expected none\nhint: set AWS_ACCESS_KEY_ID and \
                          AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
            return Err(error::Error::InvalidLocation(reason.to_owned()));
        }
        let prefix = Path::from_url_path(url.path())
            .map_err(|error| error::Error::InvalidLocation(format!("`{url}`: {error}")))?;
        if WEB.contains(&url.scheme()) {
            let origin = url.origin().ascii_serialization();
            let waiting = Arc::new(ServerRetries::new(&origin, None)?);
            let mut web = HttpBuilder::new()
                .with_url(&origin)
                .with_retry(waiting.retry_config())
                .with_http_connector(CountingConnector(Arc::clone(&waiting)));
            if url.scheme() == "http" {
                web = web.with_config(ClientConfigKey::AllowHttp, "true");
            }
            let inner = Arc::new(web.build().map_err(error::Error::Storage)?);
            return Ok(Self {
                inner,
                tails: Arc::new(TailCache::new(&origin)),
                guard: WriteGuard::new(&origin, prefix, false, waiting),
                is_web: true,
            });
        }
        let bucket = url.host_str().filter(|bucket| !bucket.is_empty());
        let bucket = bucket
            .ok_or_else(|| error::Error::InvalidLocation(format!("`{url}` has no bucket")))?;
        let (inner, tails, guard) = bucket::open(bucket, prefix).await?;
        Ok(Self {
            inner,
            tails: Arc::new(tails),
            guard,
            is_web: false,
        })
    }

    /// Caches the size of an immutable file.
    pub(crate) fn cache_size(&self, path: Path, size: u64) {
        // Its name is a random number.
        self.tails.track(path, size, TAIL_BYTES, "");
    }

    /// Evicts the cached tail of a file. Returns false if there is none.
    pub(crate) fn evict(&self, path: &Path) -> bool {
        self.tails.evict(path)
    }

    /// Returns whether the server supports listings.
    pub(crate) fn can_list(&self) -> bool {
        !self.is_web
    }

    /// Checks what commits need, regardless of earlier results.
    pub(crate) async fn probe(&self, prefix: &Path) -> Vec<ProbeResult> {
        probe::probe(&self.inner, prefix).await
    }

    /// Returns the listing, and tracks the log files in it for the tail cache.
    fn track_log_files(
        &self,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let tails = Arc::clone(&self.tails);
        let learn = move |file: &ObjectMeta| {
            if file.location.filename().is_some_and(entries::is_immutable) {
                let written = || file.last_modified.to_rfc3339();
                let version = file.e_tag.clone().unwrap_or_else(written);
                let most = if file.size <= LOG_BYTES {
                    LOG_BYTES
                } else {
                    TAIL_BYTES
                };
                tails.track(file.location.clone(), file.size, most, &version);
            }
        };
        listing.inspect_ok(learn).boxed()
    }

    fn read_only_error(&self) -> Result<()> {
        if !self.is_web {
            return Ok(());
        }
        Err(Error::Generic {
            store: "HTTP",
            source: "a store on a web server is read-only".into(),
        })
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.inner)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Remote {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.read_only_error()?;
        self.guard.allow(&self.inner).await?;
        if self.guard.single_writer && options.mode == PutMode::Create {
            // The server may not support the condition. Nobody else can interfere.
            return match self.inner.head(location).await {
                Ok(_) => Err(Error::AlreadyExists {
                    path: location.to_string(),
                    source: "it exists".into(),
                }),
                Err(Error::NotFound { .. }) => self.inner.put(location, payload).await,
                Err(error) => Err(error),
            };
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.read_only_error()?;
        self.guard.allow(&self.inner).await?;
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let range = match &options.range {
            Some(GetRange::Bounded(range)) => Some(range.clone()),
            None => self.tails.whole_size(location).map(|size| 0..size),
            _ => None,
        };
        if let Some(range) = &range
            && !options.head
            && options.if_match.is_none()
            && options.if_none_match.is_none()
            && let Some(bytes) = self.tails.range(&self.inner, location, range).await?
        {
            let meta = ObjectMeta {
                location: location.clone(),
                last_modified: chrono::DateTime::UNIX_EPOCH,
                size: range.end,
                e_tag: None,
                version: None,
            };
            return Ok(GetResult {
                payload: GetResultPayload::Stream(futures::stream::iter([Ok(bytes)]).boxed()),
                meta,
                range: range.clone(),
                attributes: Attributes::default(),
            });
        }
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut kept = Vec::with_capacity(ranges.len());
        for range in ranges {
            match self.tails.range(&self.inner, location, range).await? {
                Some(bytes) => kept.push(bytes),
                None => return self.inner.get_ranges(location, ranges).await,
            }
        }
        Ok(kept)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if let Err(error) = self.read_only_error() {
            return futures::stream::iter([Err(error)]).boxed();
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if !self.is_web {
            return self.track_log_files(self.inner.list(prefix));
        }
        self.track_log_files(web::list_log(
            Arc::clone(&self.inner),
            prefix.cloned(),
            None,
        ))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        if !self.is_web {
            return self.track_log_files(self.inner.list_with_offset(prefix, offset));
        }
        let (objects, offset) = (Arc::clone(&self.inner), Some(offset.clone()));
        self.track_log_files(web::list_log(objects, prefix.cloned(), offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        if !self.is_web {
            return self.inner.list_with_delimiter(prefix).await;
        }
        let objects = self.list(prefix).try_collect().await?;
        Ok(ListResult {
            objects,
            common_prefixes: Vec::new(),
        })
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.read_only_error()?;
        self.guard.allow(&self.inner).await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.read_only_error()?;
        self.guard.allow(&self.inner).await?;
        self.inner.rename_opts(from, to, options).await
    }
}
