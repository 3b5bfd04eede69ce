//! Stores that lie elsewhere: in a bucket (`s3://bucket/prefix`), or on a web server, where they can
//! only be read (`https://`).
//!
//! ```text
//! what others ask for ─▶ Remote ─▶ object_store ─▶ requests, counted (traffic)
//!                          ├ ends of data files from the local disk (tails)
//!                          ├ servers that are out for a while (waiting)
//!                          ├ writes only where they are safe (guard, probe)
//!                          └ listings where the server has none (web)
//! ```

#[cfg_attr(not(feature = "s3"), path = "no_bucket.rs")]
mod bucket;
mod cache;
#[cfg(feature = "s3")]
mod credentials;
mod guard;
mod probe;
#[cfg(feature = "s3")]
mod settings;
mod tails;
mod traffic;
mod waiting;
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
use guard::Guard;
use tails::{LOG_BYTES, TAIL_BYTES, Tails};
use traffic::Counted;
use tsql_error as error;
use waiting::Waiting;

pub use probe::Probed;
pub use traffic::{Traffic, traffic};
pub use waiting::wait_at_most;
pub use waiting::{stop_waiting, tell_waiting, waiting_is_stopped};

/// Schemes that name a web server.
const WEB: [&str; 2] = ["http", "https"];

/// All schemes of stores that lie elsewhere.
pub const SCHEMES: [&str; 3] = ["s3", "http", "https"];

/// An object store that lies elsewhere.
#[derive(Debug)]
pub(crate) struct Remote {
    inner: Arc<dyn ObjectStore>,
    tails: Arc<Tails>,
    guard: Guard,
    /// It has no listings and takes no writes.
    is_web: bool,
}

/// The objects of the bucket or web server that `url` is in, for files that are no store.
pub async fn objects_at(url: &Url) -> error::Result<Arc<dyn ObjectStore>> {
    Ok(Remote::open(url).await?.inner)
}

impl Remote {
    /// The bucket or web server that `url` is in.
    pub(crate) async fn open(url: &Url) -> error::Result<Self> {
        if !url.username().is_empty() || url.password().is_some() {
            // The URL is not repeated: it is in messages, the ledger and the shell's history soon enough.
            let reason = "a user or secret does not belong into a URL\nhint: AWS_ACCESS_KEY_ID and \
                          AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
            return Err(error::Error::InvalidLocation(reason.to_owned()));
        }
        let prefix = Path::from_url_path(url.path())
            .map_err(|error| error::Error::InvalidLocation(format!("`{url}`: {error}")))?;
        if WEB.contains(&url.scheme()) {
            let origin = url.origin().ascii_serialization();
            let waiting = Arc::new(Waiting::new(&origin, None)?);
            let mut web = HttpBuilder::new()
                .with_url(&origin)
                .with_retry(waiting.retries())
                .with_http_connector(Counted(Arc::clone(&waiting)));
            if url.scheme() == "http" {
                web = web.with_config(ClientConfigKey::AllowHttp, "true");
            }
            let inner = Arc::new(web.build().map_err(error::Error::Storage)?);
            return Ok(Self {
                inner,
                tails: Arc::new(Tails::new(&origin)),
                guard: Guard::new(&origin, prefix, false, waiting),
                is_web: true,
            });
        }
        let bucket = url.host_str().filter(|bucket| !bucket.is_empty());
        let bucket = bucket
            .ok_or_else(|| error::Error::InvalidLocation(format!("`{url}` names no bucket")))?;
        let (inner, tails, guard) = bucket::open(bucket, prefix).await?;
        Ok(Self {
            inner,
            tails: Arc::new(tails),
            guard,
            is_web: false,
        })
    }

    /// Remembers the size of a file that will never change.
    pub(crate) fn know(&self, path: Path, size: u64) {
        // Its name is a random number.
        self.tails.know(path, size, TAIL_BYTES, "");
    }

    /// Drops what is kept of a file; false where nothing is.
    pub(crate) fn forget(&self, path: &Path) -> bool {
        self.tails.forget(path)
    }

    /// Does the server itself list what it has?
    pub(crate) fn lists(&self) -> bool {
        !self.is_web
    }

    /// What of all that commits need is there, whatever was found out before.
    pub(crate) async fn probe(&self, prefix: &Path) -> Vec<Probed> {
        probe::probe(&self.inner, prefix).await
    }

    /// The same listing; files of logs in it are kept from now on.
    fn kept(
        &self,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let tails = Arc::clone(&self.tails);
        let learn = move |file: &ObjectMeta| {
            if file.location.filename().is_some_and(entries::is_lasting) {
                let written = || file.last_modified.to_rfc3339();
                let version = file.e_tag.clone().unwrap_or_else(written);
                let most = if file.size <= LOG_BYTES {
                    LOG_BYTES
                } else {
                    TAIL_BYTES
                };
                tails.know(file.location.clone(), file.size, most, &version);
            }
        };
        listing.inspect_ok(learn).boxed()
    }

    fn read_only(&self) -> Result<()> {
        if !self.is_web {
            return Ok(());
        }
        Err(Error::Generic {
            store: "HTTP",
            source: "a web server's store can only be read".into(),
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
        self.read_only()?;
        self.guard.allow(&self.inner).await?;
        if self.guard.single_writer && options.mode == PutMode::Create {
            // The server may not know the condition: nobody else can come between.
            return match self.inner.head(location).await {
                Ok(_) => Err(Error::AlreadyExists {
                    path: location.to_string(),
                    source: "it is there".into(),
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
        self.read_only()?;
        self.guard.allow(&self.inner).await?;
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let range = match &options.range {
            Some(GetRange::Bounded(range)) => Some(range.clone()),
            None => self.tails.whole(location).map(|size| 0..size),
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
        if let Err(error) = self.read_only() {
            return futures::stream::iter([Err(error)]).boxed();
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if !self.is_web {
            return self.kept(self.inner.list(prefix));
        }
        self.kept(web::listing(Arc::clone(&self.inner), prefix.cloned(), None))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        if !self.is_web {
            return self.kept(self.inner.list_with_offset(prefix, offset));
        }
        let (objects, offset) = (Arc::clone(&self.inner), Some(offset.clone()));
        self.kept(web::listing(objects, prefix.cloned(), offset))
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
        self.read_only()?;
        self.guard.allow(&self.inner).await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.read_only()?;
        self.guard.allow(&self.inner).await?;
        self.inner.rename_opts(from, to, options).await
    }
}
