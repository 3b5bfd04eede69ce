//! Sidecar file of an export, by which a later ingest restores names and labels.

use std::collections::BTreeMap;
use std::path::Path;

use tsql_adapters::formats::format_by_dataset;
use tsql_adapters::formats::source::SourceFile;
use tsql_error::{Error, Result};
use tsql_formats::export_manifest::{ExportManifest, ExportedFile, MANIFEST_FILE};
use tsql_formats::naming;

/// Returns the sidecar entry of a source at `path`.
pub(super) fn sidecar_entry(source: &SourceFile, path: &Path) -> ExportedFile {
    ExportedFile {
        path: naming::path_to_text(path),
        name: source.name.clone(),
        dataset: source.dataset.clone(),
        platform: source.platform.clone(),
        collection: source.collection.clone(),
        split: source.split.clone(),
        hub_path: format_by_dataset(&source.dataset).and_then(|room| room.hub_path(source)),
        labels: source.labels.clone().into_map(),
    }
}

/// Writes the sidecar into the folder of an export. Merges it with the sidecar of an earlier export.
pub fn write_sidecar(folder: &Path, files: Vec<ExportedFile>, overwrite: bool) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let known = match ExportManifest::read(folder) {
        Err(_) if overwrite => None,
        known => known?,
    };
    let known = known.into_iter().flat_map(|known| known.files);
    let all: BTreeMap<String, ExportedFile> = known
        .chain(files)
        .map(|file| (file.path.clone(), file))
        .collect();
    let list = ExportManifest::new(all.into_values().collect());
    let path = folder.join(MANIFEST_FILE);
    let failed = |error: serde_json::Error| Error::io(&path)(error.into());
    let mut text = serde_json::to_vec_pretty(&list).map_err(failed)?;
    text.push(b'\n');
    tsql_store::atomic_output::write_output(&path, text)
}
