//! Inputs in remote storage (`s3://`, `https://`), fetched in batches.
//!
//! Fetched files are laid out in a temporary folder as they are at the origin, so names and platforms are
//! derived as for local files.

use std::io::Write as _;
use std::path::Path as FilePath;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_formats::Input;
use tsql_schema::shard::Shard;
use tsql_store as store;
use url::Url;

use super::shard_filter;

/// Maximum number of bytes that are stored locally at once, unless a single file is larger.
const PORTION_BYTES: u64 = 1 << 30;

/// Number of concurrent fetches.
const CONCURRENT_FETCHES: usize = 4;

/// Remote files that an argument selects.
pub(super) struct RemoteFiles {
    objects: Arc<dyn ObjectStore>,
    /// URL of the bucket or server.
    root: String,
    /// Prefix that is removed from file names: the folder that contains the given path.
    base: String,
    files: Vec<ObjectMeta>,
    /// The file was given explicitly, not found in a folder.
    explicit: bool,
}

/// Fetched files. They are deleted on drop.
pub(super) struct FetchedFiles {
    _folder: Scratch,
    pub(super) inputs: Vec<Input>,
}

/// Returns whether an argument is a remote URL.
pub(super) fn is_remote(argument: &str) -> bool {
    let scheme = argument.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| store::SCHEMES.contains(&scheme))
}

impl RemoteFiles {
    /// Finds the object itself, those below it, or those that match a pattern.
    pub(super) async fn find(argument: &str, part: Option<Shard>) -> Result<Self> {
        let wrong = |reason: String| Error::Source {
            location: argument.to_owned(),
            reason,
        };
        let url = Url::parse(argument).map_err(|error| wrong(error.to_string()))?;
        // A pattern may contain a `?` too, but no `=` after it.
        if url.query().is_some_and(|query| query.contains('=')) {
            let hint = "hint: download a signed URL with `curl -o FILE URL`, and ingest the file";
            return Err(wrong(format!("a URL with a query cannot be read\n{hint}")));
        }
        let root = &url[..url::Position::BeforePath];
        let objects = store::objects_at(&url).await?;
        // Pattern characters are escaped in a URL.
        let (_, named) = argument.split_once("://").unwrap_or_default();
        let named = named.split_once('/').map_or("", |(_, path)| path);
        let mut found = Self {
            objects,
            root: root.to_owned(),
            base: String::new(),
            files: Vec::new(),
            explicit: false,
        };
        if let Some(sign) = named.find(['*', '?', '[']) {
            let pattern = glob::Pattern::new(named).map_err(|error| wrong(error.to_string()))?;
            let folder = named.get(..sign).and_then(|begin| begin.rsplit_once('/'));
            let folder = folder.map_or("", |(folder, _)| folder);
            let all = found.list(folder).await?;
            let options = glob::MatchOptions {
                require_literal_separator: true,
                ..glob::MatchOptions::new()
            };
            let matches = |file: &ObjectMeta| pattern.matches_with(file.location.as_ref(), options);
            found.files = all.into_iter().filter(matches).collect();
            found.explicit = true;
        } else {
            let path = Path::from_url_path(url.path()).map_err(|error| wrong(error.to_string()))?;
            match found.objects.head(&path).await {
                Ok(file) => {
                    found.files = vec![file];
                    found.explicit = true;
                }
                Err(object_store::Error::NotFound { .. }) => {
                    found.files = found.list(path.as_ref()).await?;
                    let base = path.as_ref().rsplit_once('/');
                    found.base = base.map_or(String::new(), |(base, _)| format!("{base}/"));
                }
                Err(error) => return Err(Error::Storage(error)),
            }
        }
        if found.files.is_empty() {
            return Err(wrong("no such object, folder or match".to_owned()));
        }
        found.files.sort_by(|a, b| a.location.cmp(&b.location));
        shard_filter::retain_shard(part, &mut found.files, |file| file.location.as_ref());
        Ok(found)
    }

    async fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let folder = Path::from(folder);
        let listed = self.objects.list(Some(&folder)).try_collect().await;
        listed.map_err(Error::Storage)
    }

    /// Number of files and total bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let bytes = self.files.iter().map(|file| file.size).sum();
        (self.files.len() as u64, bytes)
    }

    /// Fetches the next files. Returns `None` at the end.
    pub(super) async fn fetch_next(&mut self) -> Result<Option<FetchedFiles>> {
        let (mut count, mut bytes) = (0, 0);
        for file in &self.files {
            bytes += file.size;
            if count > 0 && bytes > PORTION_BYTES {
                break;
            }
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        let files: Vec<ObjectMeta> = self.files.drain(..count).collect();
        let folder = Scratch::new()?;
        let fetched = files
            .iter()
            .map(|file| self.fetch_file(file, folder.path()));
        let fetched = futures::stream::iter(fetched).buffered(CONCURRENT_FETCHES);
        let inputs = fetched.try_collect().await?;
        Ok(Some(FetchedFiles {
            _folder: folder,
            inputs,
        }))
    }

    async fn fetch_file(&self, file: &ObjectMeta, folder: &FilePath) -> Result<Input> {
        let path = file.location.as_ref();
        let here = folder.join(path);
        if let Some(parent) = here.parent() {
            std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
        }
        let mut target = std::fs::File::create(&here).map_err(Error::io(&here))?;
        let mut bytes = self
            .objects
            .get(&file.location)
            .await
            .map_err(Error::Storage)?
            .into_stream();
        while let Some(piece) = bytes.next().await {
            let piece = piece.map_err(Error::Storage)?;
            target.write_all(&piece).map_err(Error::io(&here))?;
        }
        let mut parts = path.rsplit('/');
        let name = parts.next().unwrap_or(path);
        let directory = parts.next().map(str::to_owned);
        let (name, directory) = if self.explicit {
            (name.to_owned(), None)
        } else {
            let name = path.strip_prefix(&self.base).unwrap_or(path);
            (name.to_owned(), directory)
        };
        Ok(Input {
            directory,
            explicit: self.explicit,
            ..Input::new(here, format!("{}/{path}", self.root), name)
        })
    }
}
