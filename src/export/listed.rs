//! The list of an export's files, by which they are taken in again as what they were.

use std::collections::BTreeMap;
use std::path::Path;

use tsql_formats::exported::{ExportedFile, SIDECAR, Sidecar};
use tsql_formats::naming;

use crate::error::{Error, Result};
use crate::formats::room;
use crate::formats::source::SourceFile;

/// What it says of a source that lies at `path`.
pub(super) fn entry(source: &SourceFile, path: &Path) -> ExportedFile {
    ExportedFile {
        path: naming::readable_path(path),
        name: source.name.clone(),
        dataset: source.dataset.clone(),
        platform: source.platform.clone(),
        collection: source.collection.clone(),
        split: source.split.clone(),
        hub_path: room(&source.dataset).and_then(|room| room.hub_path(source)),
        labels: source.labels.clone().into_map(),
    }
}

/// Writes it into the folder of an export, with what an earlier export into the same folder has left.
pub(crate) fn write(folder: &Path, files: Vec<ExportedFile>, overwrite: bool) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let known = match Sidecar::read(folder) {
        Err(_) if overwrite => None,
        known => known?,
    };
    let known = known.into_iter().flat_map(|known| known.files);
    let all: BTreeMap<String, ExportedFile> = known
        .chain(files)
        .map(|file| (file.path.clone(), file))
        .collect();
    let list = Sidecar::new(all.into_values().collect());
    let path = folder.join(SIDECAR);
    let failed = |error: serde_json::Error| Error::io(&path)(error.into());
    let mut text = serde_json::to_vec_pretty(&list).map_err(failed)?;
    text.push(b'\n');
    Ok(tsql_folders::write_file(&path, text)?)
}
