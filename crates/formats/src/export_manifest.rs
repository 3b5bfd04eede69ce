//! Manifest that `tsql export` writes next to the exported files, so that they can be ingested again with their
//! original metadata.
//!
//! ```text
//! back/
//! ├── tsql-export.json     {"tsql_export": 1, "files": [{"path": "a100/x.json", "platform": ...}, ...]}
//! └── a100/x.json
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::input::{Input, STDIN};
use crate::naming;

pub use crate::input::ExportedFile;

/// File name of the manifest, at the root of an export.
pub const MANIFEST_FILE: &str = "tsql-export.json";

/// Version that is written, and newest version that is read.
const VERSION: i64 = 1;

/// Manifest of all files of an export.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportManifest {
    #[serde(rename = "tsql_export")]
    version: i64,
    /// One entry per file below the folder.
    pub files: Vec<ExportedFile>,
}

impl ExportManifest {
    /// Creates a manifest of these files in the current version.
    pub fn new(files: Vec<ExportedFile>) -> Self {
        let version = VERSION;
        Self { version, files }
    }

    /// Reads the manifest of a folder; `None` if there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path)(error)),
        };
        let manifest: Self = serde_json::from_str(&text).map_err(|error| Error::Source {
            location: path.to_string_lossy().into_owned(),
            reason: format!(
                "invalid list of exported files: {error}\nhint: move the list away to ingest the files beside it like other files"
            ),
        })?;
        if manifest.version > VERSION {
            return Err(Error::TooNew {
                what: path.to_string_lossy().into_owned(),
                found: manifest.version,
                supported: VERSION,
            });
        }
        Ok(Some(manifest))
    }
}

/// Restores the metadata of inputs that are inside of an export, and removes the manifest from the inputs.
pub fn apply_export_manifests(inputs: Vec<Input>) -> Result<Vec<Input>> {
    let mut exports = ExportCache::default();
    let mut restored = Vec::with_capacity(inputs.len());
    for mut input in inputs {
        if input.path == STDIN {
            restored.push(input);
            continue;
        }
        if input
            .file
            .file_name()
            .is_some_and(|name| name == MANIFEST_FILE)
        {
            continue;
        }
        let file = std::path::absolute(&input.file).map_err(Error::io(&input.file))?;
        let export = file
            .parent()
            .map(|folder| exports.find_export(folder))
            .transpose()?;
        if let Some(export) = export.flatten() {
            let relative_path = file.strip_prefix(&export.folder).unwrap_or(&file);
            let path = naming::path_to_text(relative_path);
            input.exported = export.files.get(&path).map(Arc::clone);
        }
        if let Some(exported) = &input.exported {
            input.name.clone_from(&exported.name);
        }
        restored.push(input);
    }
    Ok(restored)
}

/// Files of an export by path.
#[derive(Debug)]
struct Export {
    folder: PathBuf,
    files: HashMap<String, Arc<ExportedFile>>,
}

/// Cache of the exports that folders belong to.
#[derive(Default)]
struct ExportCache(HashMap<PathBuf, Option<Arc<Export>>>);

impl ExportCache {
    /// Returns the nearest export that contains this folder.
    fn find_export(&mut self, folder: &Path) -> Result<Option<Arc<Export>>> {
        if let Some(cached) = self.0.get(folder) {
            return Ok(cached.clone());
        }
        let export = match ExportManifest::read(folder)? {
            Some(manifest) => {
                let files = manifest.files.into_iter();
                let files = files.map(|file| (file.path.clone(), Arc::new(file)));
                Some(Arc::new(Export {
                    folder: folder.to_owned(),
                    files: files.collect(),
                }))
            }
            None => folder
                .parent()
                .map(|parent| self.find_export(parent))
                .transpose()?
                .flatten(),
        };
        self.0.insert(folder.to_owned(), export.clone());
        Ok(export)
    }
}
