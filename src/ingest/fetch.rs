//! Inputs that lie elsewhere (`s3://`, `https://`), brought here a portion at a time.
//!
//! What is fetched lies in a temporary folder laid out as the files are there, so that names and
//! platforms follow from it as they do here.

use std::io::Write as _;
use std::path::Path as FilePath;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use tsql_formats::Input;
use url::Url;

use super::parts;
use crate::error::{Error, Result};
use crate::part::Part;
use crate::store;
use tsql_folders::Scratch;

/// Bytes that lie here at once, unless one file alone has more.
const PORTION_BYTES: u64 = 1 << 30;

/// Files that are fetched at the same time.
const FETCHED: usize = 4;

/// Files elsewhere that an argument means.
pub(super) struct Elsewhere {
    objects: Arc<dyn ObjectStore>,
    /// The bucket's or server's URL.
    root: String,
    /// What the names of files begin after: the folder that holds what was named.
    base: String,
    files: Vec<ObjectMeta>,
    /// It was named itself, not found in a folder.
    explicit: bool,
}

/// Files that were fetched; they go when this does.
pub(super) struct Portion {
    _folder: Scratch,
    pub(super) inputs: Vec<Input>,
}

/// Does this argument lie elsewhere?
pub(super) fn is_elsewhere(argument: &str) -> bool {
    let scheme = argument.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| store::SCHEMES.contains(&scheme))
}

impl Elsewhere {
    /// The object itself, those below it, or those that match a pattern.
    pub(super) async fn find(argument: &str, part: Option<Part>) -> Result<Self> {
        let wrong = |reason: String| Error::Source {
            location: argument.to_owned(),
            reason,
        };
        let url = Url::parse(argument).map_err(|error| wrong(error.to_string()))?;
        // A pattern has a `?`, too, and no `=` behind it.
        if url.query().is_some_and(|query| query.contains('=')) {
            let hint =
                "hint: what is signed so is fetched by `curl -o FILE URL` and taken in as a file";
            return Err(wrong(format!("a URL with a query cannot be read\n{hint}")));
        }
        let root = &url[..url::Position::BeforePath];
        let objects = store::objects_at(&url).await?;
        // A pattern's signs are escaped in a URL.
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
        parts::keep(part, &mut found.files, |file| file.location.as_ref());
        Ok(found)
    }

    async fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let folder = Path::from(folder);
        let listed = self.objects.list(Some(&folder)).try_collect().await;
        listed.map_err(Error::Storage)
    }

    /// Number of files and their bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let bytes = self.files.iter().map(|file| file.size).sum();
        (self.files.len() as u64, bytes)
    }

    /// Fetches the next files; `None` where there are no more.
    pub(super) async fn next(&mut self) -> Result<Option<Portion>> {
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
        let fetched = files.iter().map(|file| self.fetch(file, folder.path()));
        let fetched = futures::stream::iter(fetched).buffered(FETCHED);
        let inputs = fetched.try_collect().await?;
        Ok(Some(Portion {
            _folder: folder,
            inputs,
        }))
    }

    async fn fetch(&self, file: &ObjectMeta, folder: &FilePath) -> Result<Input> {
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
