//! A program with all that it takes to build it again, whoever has its record.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tsql_codecs::json;

use crate::error::{Error, Result};
use tsql_measure::manifest::Manifest;
use tsql_measure::templates::{self, Template};

/// A manifest and the texts that it is made of: a program that can be measured, and built again by whoever has its record.
#[derive(Debug)]
pub struct Loaded {
    pub(crate) manifest: Manifest,
    /// Manifest and sources as a canonical JSON object: the column `environments.program`.
    pub(crate) program: String,
}

/// What the column `environments.program` holds.
#[derive(Serialize, Deserialize)]
struct Program {
    /// Name of the manifest, without folders.
    name: String,
    manifest: String,
    /// Sources by the names that the manifest gives them.
    files: BTreeMap<String, String>,
}

impl Loaded {
    /// The manifest at a path, or the template of that name (`tsql measure template list`).
    ///
    /// # Errors
    /// What cannot be read, with its path, and what is wrong with a manifest, with its key.
    pub fn named(name: &str) -> Result<Self> {
        let path = Path::new(name);
        let is_path = path.is_file() || name.contains('/') || path.extension().is_some();
        if is_path {
            Self::of_file(path)
        } else {
            Self::of_template(templates::find(name)?)
        }
    }

    /// A manifest and its sources as texts: `name` is that of a file (`mine.json`, `mine.toml`), which says how the
    /// manifest is written; `sources` are by the names that it gives them.
    ///
    /// # Errors
    /// As [`Loaded::named`], and [`Error::Unknown`] for a source that is not there.
    pub fn of_texts(
        manifest: &str,
        name: &str,
        sources: &BTreeMap<String, String>,
    ) -> Result<Self> {
        Self::of(manifest, name, |source| {
            let text = sources.get(source).cloned();
            text.ok_or_else(|| Error::Unknown {
                kind: "source of the manifest",
                name: source.to_owned(),
                known: sources.keys().cloned().collect::<Vec<_>>().join(", "),
            })
        })
    }

    fn of_file(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::of(&text, &path.to_string_lossy(), |source| {
            let path = folder.join(source);
            std::fs::read_to_string(&path).map_err(Error::io(path))
        })
    }

    fn of_template(template: &Template) -> Result<Self> {
        let name = template.manifest_name();
        Self::of(template.manifest, &name, |source| {
            Ok(template.source(source)?)
        })
    }

    /// The program of a record: what `environments.program` says.
    pub(crate) fn of_record(program: &str) -> Result<Self> {
        let damaged = |reason: String| Error::damaged("environments", format!("program: {reason}"));
        let kept: Program =
            serde_json::from_str(program).map_err(|error| damaged(error.to_string()))?;
        Self::of(&kept.manifest, &kept.name, |source| {
            let text = kept.files.get(source).cloned();
            text.ok_or_else(|| damaged(format!("no `{source}`")))
        })
    }

    fn of(text: &str, path: &str, read: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let files = RefCell::new(BTreeMap::new());
        let manifest = Manifest::parse(text, path, &|source| {
            let text = read(source)?;
            files.borrow_mut().insert(source.to_owned(), text.clone());
            Ok::<_, Error>(text)
        })?;
        let name = Path::new(path).file_name().unwrap_or_default();
        let program = Program {
            name: name.to_string_lossy().into_owned(),
            manifest: text.to_owned(),
            files: files.into_inner(),
        };
        let program = serde_json::to_string(&program).unwrap_or_default();
        Ok(Self {
            manifest,
            program: json::canonical(&program).unwrap_or_default(),
        })
    }
}

/// A workload and a configuration of a program.
#[derive(Clone, Debug)]
pub struct Item {
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) params: BTreeMap<String, i64>,
    pub(crate) config: BTreeMap<String, i64>,
}

impl Item {
    /// The graph, as `graphs.workload_key` holds it.
    pub fn workload_key(&self) -> String {
        self.loaded.manifest.workload_key(&self.params)
    }

    /// The configuration, as `configurations.steps` holds it.
    pub fn steps(&self) -> String {
        Manifest::config_text(&self.config)
    }
}
