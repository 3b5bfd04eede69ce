//! What `tsql export` writes beside the files that it gives back, so that they can be taken in again
//! as what they were.
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

/// Its name, at the root of an export.
pub const SIDECAR: &str = "tsql-export.json";

/// The version that is written, and the newest that is read.
const VERSION: i64 = 1;

/// All files of an export.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sidecar {
    #[serde(rename = "tsql_export")]
    version: i64,
    /// One for each file of the folder and below.
    pub files: Vec<ExportedFile>,
}

impl Sidecar {
    /// A list of these files, of the version that this build writes.
    pub fn new(files: Vec<ExportedFile>) -> Self {
        let version = VERSION;
        Self { version, files }
    }

    /// Reads the one in a folder; `None` where there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(SIDECAR);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path)(error)),
        };
        let sidecar: Self = serde_json::from_str(&text).map_err(|error| Error::Source {
            location: path.to_string_lossy().into_owned(),
            reason: format!(
                "no list of exported files: {error}\nhint: move it away to have the files beside it taken as any others"
            ),
        })?;
        if sidecar.version > VERSION {
            return Err(Error::TooNew {
                what: path.to_string_lossy().into_owned(),
                found: sidecar.version,
                supported: VERSION,
            });
        }
        Ok(Some(sidecar))
    }
}

/// Says of inputs that lie in an export what they were, and leaves out its list of files.
pub fn recall(inputs: Vec<Input>) -> Result<Vec<Input>> {
    let mut exports = Exports::default();
    let mut recalled = Vec::with_capacity(inputs.len());
    for mut input in inputs {
        if input.path == STDIN {
            recalled.push(input);
            continue;
        }
        if input.file.file_name().is_some_and(|name| name == SIDECAR) {
            continue;
        }
        let file = std::path::absolute(&input.file).map_err(Error::io(&input.file))?;
        let export = file.parent().map(|folder| exports.of(folder)).transpose()?;
        if let Some(export) = export.flatten() {
            let below = file.strip_prefix(&export.folder).unwrap_or(&file);
            let path = naming::readable_path(below);
            input.exported = export.files.get(&path).map(Arc::clone);
        }
        if let Some(exported) = &input.exported {
            input.name.clone_from(&exported.name);
        }
        recalled.push(input);
    }
    Ok(recalled)
}

/// The files of an export by their paths.
#[derive(Debug)]
struct Export {
    folder: PathBuf,
    files: HashMap<String, Arc<ExportedFile>>,
}

/// The exports that folders lie in, as far as it was asked.
#[derive(Default)]
struct Exports(HashMap<PathBuf, Option<Arc<Export>>>);

impl Exports {
    /// The export that has this folder: the nearest one upwards.
    fn of(&mut self, folder: &Path) -> Result<Option<Arc<Export>>> {
        if let Some(known) = self.0.get(folder) {
            return Ok(known.clone());
        }
        let found = match Sidecar::read(folder)? {
            Some(sidecar) => {
                let files = sidecar.files.into_iter();
                let files = files.map(|file| (file.path.clone(), Arc::new(file)));
                Some(Arc::new(Export {
                    folder: folder.to_owned(),
                    files: files.collect(),
                }))
            }
            None => folder
                .parent()
                .map(|above| self.of(above))
                .transpose()?
                .flatten(),
        };
        self.0.insert(folder.to_owned(), found.clone());
        Ok(found)
    }
}
