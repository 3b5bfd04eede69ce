//! A program with everything needed to rebuild it from a record.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tsql_codecs::json;
use tsql_error::{Error, Result};
use tsql_measure::manifest::Manifest;
use tsql_measure::templates::{self, Template};

/// A manifest and its sources: a program that can be measured, and rebuilt from its records.
#[derive(Debug)]
pub struct LoadedProgram {
    /// The manifest of the program.
    pub manifest: Manifest,
    /// Manifest and sources as a canonical JSON object: the column `environments.program`.
    pub(crate) program: String,
}

/// Contents of the column `environments.program`.
#[derive(Serialize, Deserialize)]
struct StoredProgram {
    /// File name of the manifest.
    name: String,
    manifest: String,
    /// Sources by their names in the manifest.
    files: BTreeMap<String, String>,
}

impl LoadedProgram {
    /// Opens the manifest at a path, or the template with this name (`tsql measure template list`).
    ///
    /// # Errors
    /// If a file cannot be read, with its path; if the manifest is invalid, with the key.
    pub fn open(name: &str) -> Result<Self> {
        let path = Path::new(name);
        let is_path = path.is_file() || name.contains('/') || path.extension().is_some();
        if is_path {
            Self::from_file(path)
        } else {
            Self::from_template(templates::find(name)?)
        }
    }

    /// Creates a program from texts.
    ///
    /// The extension of the file name `name` (`mine.json`, `mine.toml`) determines the format of the
    /// manifest. Keys of `sources` are the file names in the manifest.
    ///
    /// # Errors
    /// See [`LoadedProgram::open`], and [`Error::Unknown`] for a missing source.
    pub fn from_texts(
        manifest: &str,
        name: &str,
        sources: &BTreeMap<String, String>,
    ) -> Result<Self> {
        Self::parse(manifest, name, |source| {
            let text = sources.get(source).cloned();
            text.ok_or_else(|| Error::Unknown {
                kind: "source of the manifest",
                name: source.to_owned(),
                known: sources.keys().cloned().collect::<Vec<_>>().join(", "),
            })
        })
    }

    fn from_file(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, &path.to_string_lossy(), |source| {
            let path = folder.join(source);
            std::fs::read_to_string(&path).map_err(Error::io(path))
        })
    }

    fn from_template(template: &Template) -> Result<Self> {
        let name = template.manifest_name();
        Self::parse(template.manifest, &name, |source| {
            Ok(template.source(source)?)
        })
    }

    /// Parses the program of a record, from `environments.program`.
    pub(crate) fn from_record(program: &str) -> Result<Self> {
        let damaged = |reason: String| Error::damaged("environments", format!("program: {reason}"));
        let kept: StoredProgram =
            serde_json::from_str(program).map_err(|error| damaged(error.to_string()))?;
        Self::parse(&kept.manifest, &kept.name, |source| {
            let text = kept.files.get(source).cloned();
            text.ok_or_else(|| damaged(format!("no `{source}`")))
        })
    }

    fn parse(text: &str, path: &str, read: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let files = RefCell::new(BTreeMap::new());
        let manifest = Manifest::parse(text, path, &|source| {
            let text = read(source)?;
            files.borrow_mut().insert(source.to_owned(), text.clone());
            Ok::<_, Error>(text)
        })?;
        let name = Path::new(path).file_name().unwrap_or_default();
        let program = StoredProgram {
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
pub struct TrialSpec {
    pub(crate) loaded: Arc<LoadedProgram>,
    pub(crate) params: BTreeMap<String, i64>,
    /// Values of the parameters.
    pub config: BTreeMap<String, i64>,
}

impl TrialSpec {
    /// Workload key of the graph, as in `graphs.workload_key`.
    pub fn workload_key(&self) -> String {
        self.loaded.manifest.workload_key(&self.params)
    }

    /// Steps of the configuration, as in `configurations.steps`.
    pub fn steps(&self) -> String {
        Manifest::config_text(&self.config)
    }
}
