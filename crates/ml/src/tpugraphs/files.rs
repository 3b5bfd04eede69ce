//! Writes graphs as training files: one npz file per graph in the folder of its part, with edges by node and
//! configurations as codes.
//!
//! ```text
//! DIR/
//! ├── manifest.json, SHA256SUMS                    as for rows
//! └── train/layout-xla-random/resnet50.npz
//!       indptr (nodes + 1), indices (edges)        operands of node n: indices[indptr[n]:indptr[n + 1]]
//!       node_feat (nodes, 140), node_opcode (nodes), node_config_ids (slots), node_splits
//!       codes (k, groups), group_of_slot (slots), layouts (groups, codes, 18), of tiles config_feat (k, 24)
//!       sample, config_runtime, of tiles config_runtime_normalizers (k)
//! ```

pub(crate) use crate::training::verify_training_files;
use std::collections::BTreeMap;
use std::io::Cursor;

use arrow::datatypes::Int64Type;
use derive_setters::Setters;
use serde::{Deserialize, Serialize};
use tsql_codecs::graph::GraphKind;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::{open_session, open_session_with};
use tsql_store::atomic_output::{OutputTarget, WrittenFile};
use tsql_store::{At, Store};

use super::training::{Form, GraphFile, TrainingGraph, load_in_chunks, select_training_files};
use crate::training::{
    KeySum, MANIFEST, ManifestPart, TRAINING_FILES, TrainingFilesVerified, TrainingManifest,
    file_entry, manifest_version, read_manifest, split_info, verify_checksums,
};

/// Options of graph files.
///
/// ```
/// use tsql_ml::tpugraphs::GraphFilesOptions;
/// let options = GraphFilesOptions::new(["layout:xla:random"]).overwrite(true);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct GraphFilesOptions {
    #[setters(skip)]
    names: Vec<String>,
    /// Uses the parts of this split (`NAME@VERSION`); each file is in one part.
    #[setters(into)]
    split: Option<String>,
    /// Replaces files of an earlier export.
    #[serde(skip)]
    overwrite: bool,
}

impl GraphFilesOptions {
    /// Selects all samples of these files, or of the files of these collections, in the parts of their paths.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            names: names.into_iter().map(Into::into).collect(),
            split: None,
            overwrite: false,
        }
    }
}

/// Folder of files whose path has no part.
const ALL: &str = "all";

/// Writes graphs of TpuGraphs with all their configurations as training files, like
/// [`write_training_files`](crate::training::write_training_files) for rows.
///
/// # Errors
/// [`Error::Unknown`], [`Error::Ambiguous`] and [`Error::Empty`] for names of no file, of several, and for no
/// names; [`Error::Argument`] if the samples of a file are in several parts of the split; as
/// [`write_training_files`](crate::training::write_training_files).
pub async fn write_graph_files(
    store: &Store,
    to: &str,
    options: &GraphFilesOptions,
) -> Result<TrainingManifest> {
    let at = At::Versions(store.current_versions().await?);
    let store = store.at(&at).await?;
    let names: Vec<&str> = options.names.iter().map(String::as_str).collect();
    let files = select_training_files(&store, &names).await?;
    let (mut options, mut split) = (options.clone(), None);
    let parts = match &options.split {
        None => BTreeMap::new(),
        Some(name) => {
            let context = open_session(&store).await?;
            let told = split_info(&context, name).await?;
            let parts = parts_by_source(&store, &told.name).await?;
            options.split = Some(told.name.clone());
            split = Some(told);
            parts
        }
    };
    let target = OutputTarget::open(to, options.overwrite, TRAINING_FILES).await?;
    target.begin().await?;
    let mut writing = GraphFilesWriter {
        target: &target,
        parts: BTreeMap::new(),
        written: Vec::new(),
    };
    let mut manifest = TrainingManifest {
        manifest_version: manifest_version(),
        tsql_version: env!("CARGO_PKG_VERSION").to_owned(),
        at: at.to_string(),
        ..TrainingManifest::default()
    };
    let mut portions = load_in_chunks(&store, &files).await?;
    while let Some(portion) = portions.next().await? {
        for (file, graph) in portion {
            let part = match &options.split {
                None => file.split.as_deref().unwrap_or(ALL),
                Some(split) => match parts.get(&file.source_id).map(Vec::as_slice) {
                    Some([Some(part)]) => part.as_str(),
                    None | Some([] | [None]) => {
                        manifest.excluded.without_part += graph.sample_count() as u64;
                        continue;
                    }
                    Some(_) => {
                        let reason = format!(
                            "the rows of {} are in several parts of the split {split}\n\
                             hint: use a split by a unit that does not divide graphs: task, \
                             structure, collection",
                            file.id
                        );
                        return Err(Error::Argument {
                            name: "split",
                            reason,
                        });
                    }
                },
            };
            writing.write_graph(part, file, &graph).await?;
        }
    }
    let mut written = writing.written;
    let finished = writing.parts.into_iter().map(|(name, (mut part, keys))| {
        part.name = name;
        part.keys = keys.text();
        part
    });
    manifest.parts = finished.collect();
    if manifest.parts.is_empty() {
        let reason = "no graph belongs to a part of the split".to_owned();
        return Err(Error::Empty(reason));
    }
    manifest.split = split;
    let internal = |error: serde_json::Error| Error::Internal(error.to_string());
    manifest.graphs = Some(serde_json::to_value(&options).map_err(internal)?);
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(internal)?;
    text.push(b'\n');
    written.push(target.write(MANIFEST.to_owned(), text, 0).await?);
    target.finish(&written).await?;
    Ok(manifest)
}

/// Verifies training files of graphs or rows against their manifest and a new export: see
/// [`verify_training_files`](crate::training::verify_training_files), which supports rows only.
///
/// # Errors
/// As [`verify_training_files`](crate::training::verify_training_files).
pub async fn verify_graph_files(store: &Store, manifest: &str) -> Result<TrainingFilesVerified> {
    let (location, known) = read_manifest(manifest).await?;
    let Some(options) = known.graphs.clone() else {
        return verify_training_files(store, manifest).await;
    };
    let wrong = |reason: String| Error::Source {
        location: manifest.to_owned(),
        reason,
    };
    let options: GraphFilesOptions =
        serde_json::from_value(options).map_err(|error| wrong(format!("graphs: {error}")))?;
    let mut verified = verify_checksums(&location, &known).await?;
    let scratch = tsql_folders::Scratch::new()?;
    let again = scratch.path().join("again").to_string_lossy().into_owned();
    let made = match known.at.parse::<At>() {
        Ok(at) => match store.at(&at).await {
            Ok(store) => write_graph_files(&store, &again, &options).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    verified.add_rebuilt(&known, made);
    Ok(verified)
}

/// Returns the parts of the samples of each source.
async fn parts_by_source(store: &Store, split: &str) -> Result<BTreeMap<i64, Vec<Option<String>>>> {
    let quoted = split.replace('\'', "''");
    let sql = format!(
        "SELECT source_id, arrow_cast(part, 'Utf8View') AS part FROM (SELECT source_id, split('{quoted}') AS part FROM records \
         WHERE dataset = 'tpugraphs') AS samples GROUP BY source_id, part ORDER BY source_id, part"
    );
    let options = tsql_session::SessionOptions::default().sql(&sql);
    let context = open_session_with(store, &options).await?;
    let mut parts: BTreeMap<i64, Vec<Option<String>>> = BTreeMap::new();
    for batch in collect(&context, &sql).await? {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let names = column::text(&batch, "part")?;
        for row in 0..batch.num_rows() {
            let part = column::text_at(names, row).map(str::to_owned);
            parts.entry(sources.value(row)).or_default().push(part);
        }
    }
    Ok(parts)
}

struct GraphFilesWriter<'a> {
    target: &'a OutputTarget,
    parts: BTreeMap<String, (ManifestPart, KeySum)>,
    written: Vec<WrittenFile>,
}

impl GraphFilesWriter<'_> {
    async fn write_graph(
        &mut self,
        part: &str,
        file: &GraphFile,
        graph: &TrainingGraph,
    ) -> Result<()> {
        let (collection, name) = file.id.rsplit_once(':').unwrap_or(("", &file.id));
        let path = format!("{part}/{}/{name}.npz", collection.replace(':', "-"));
        let count = u32::try_from(graph.sample_count()).unwrap_or(u32::MAX);
        let samples: Vec<u32> = (0..count).collect();
        let mut bytes = Cursor::new(Vec::new());
        let form = match graph.kind() {
            GraphKind::Layout => Form::Codes,
            GraphKind::Tile => Form::Float32,
        };
        graph.write_csr_npz(&samples, form, &mut bytes)?;
        let rows = u64::from(count);
        let written = self.target.write(path, bytes.into_inner(), rows).await?;
        let (told, keys) = self.parts.entry(part.to_owned()).or_default();
        for (sample, runtime) in samples.iter().zip(graph.runtimes_ns(&samples)) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "whole nanoseconds below 2^53 are exact"
            )]
            keys.row(
                &file.id,
                &sample.to_string(),
                runtime.map(|time| time as f64),
            );
        }
        told.rows += rows;
        told.groups += 1;
        told.largest_group = told.largest_group.max(rows);
        told.files.push(file_entry(&written));
        self.written.push(written);
        Ok(())
    }
}
