//! The files of TpuGraphs that a store has, and which of them a name means.

use crate::error::{Error, Result};
use crate::formats::tpugraphs::Loader;
use crate::store::Store;
use serde::Serialize;

/// A file of TpuGraphs in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrainingFile {
    /// `<collection>:<name without .npz>`, as submissions call it.
    pub id: String,
    /// `train`, `valid` or `test`, where the file's path says so.
    pub split: Option<String>,
    /// Its samples.
    pub sample_count: u64,
    pub(in crate::tpugraphs) source_id: i64,
    pub(super) graph_id: i64,
}

/// All files of TpuGraphs in a store, by their ids.
///
/// # Errors
/// Failures of the storage.
pub async fn training_files(store: &Store) -> Result<Vec<TrainingFile>> {
    files(&Loader::new(store).await?).await
}

/// The files that these names mean: see [`selected`].
pub(in crate::tpugraphs) async fn selected_files(
    store: &Store,
    names: &[&str],
) -> Result<Vec<TrainingFile>> {
    selected(&training_files(store).await?, names, None)
}

/// The files that these names mean, by their ids, each once: that of an id, or of an id that ends in `:name`, or all of a
/// collection.
///
/// # Errors
/// As [`one`]; [`Error::Empty`] where none is of the split.
pub(super) fn selected(
    files: &[TrainingFile],
    names: &[&str],
    split: Option<&str>,
) -> Result<Vec<TrainingFile>> {
    let mut chosen = vec![false; files.len()];
    for name in names {
        let prefix = format!("{name}:");
        let of_collection = |file: &TrainingFile| file.id.starts_with(&prefix);
        let is_file = files.iter().any(|file| file.id == *name);
        let is_collection = !is_file && files.iter().any(of_collection);
        let single = if is_collection {
            None
        } else {
            Some(one(files, name)?)
        };
        for (file, is_chosen) in files.iter().zip(&mut chosen) {
            *is_chosen |= match single {
                Some(single) => file == single,
                None => of_collection(file),
            };
        }
    }
    let named = files.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen);
    let named: Vec<&TrainingFile> = named.map(|(file, _)| file).collect();
    let of_split = |file: &&&TrainingFile| split.is_none() || file.split.as_deref() == split;
    let found: Vec<TrainingFile> = named
        .iter()
        .filter(of_split)
        .map(|file| (*file).clone())
        .collect();
    if found.is_empty() {
        return Err(none(&named, split));
    }
    Ok(found)
}

/// No file was named, or none of the named ones is of the split.
fn none(named: &[&TrainingFile], split: Option<&str>) -> Error {
    let Some(split) = split.filter(|_| !named.is_empty()) else {
        return Error::Empty("no file was named: name files or collections".to_owned());
    };
    let mut splits: Vec<&str> = named
        .iter()
        .filter_map(|file| file.split.as_deref())
        .collect();
    splits.sort_unstable();
    splits.dedup();
    let there = if splits.is_empty() {
        "none".to_owned()
    } else {
        splits.join(", ")
    };
    Error::Empty(format!(
        "none of {} files is of the split `{split}`\nhint: their splits are {there}",
        named.len()
    ))
}

/// The one file that a name means: the one with this id, or whose id ends in `:name`.
///
/// # Errors
/// [`Error::Unknown`] where there is none, [`Error::Ambiguous`] where there are several.
pub(super) fn one<'a>(files: &'a [TrainingFile], name: &str) -> Result<&'a TrainingFile> {
    let exact = files.iter().filter(|file| file.id == name);
    let mut found: Vec<&TrainingFile> = exact.collect();
    if found.is_empty() {
        let suffix = format!(":{name}");
        found.extend(files.iter().filter(|file| file.id.ends_with(&suffix)));
    }
    match found.as_slice() {
        [file] => Ok(file),
        [] => Err(unknown(name, files)),
        several => {
            let ids: Vec<&str> = several.iter().map(|file| file.id.as_str()).collect();
            let ids = ids.join(", ");
            Err(Error::Ambiguous(format!(
                "`{name}` is several files: {ids}"
            )))
        }
    }
}

/// Ids that an error lists.
const LISTED: usize = 5;

fn unknown(name: &str, files: &[TrainingFile]) -> Error {
    let ids = files.iter().map(|file| file.id.as_str());
    let close = ids.clone().filter(|id| id.contains(name));
    let mut known: Vec<&str> = close.take(LISTED).collect();
    if known.is_empty() {
        known = ids.take(LISTED).collect();
    }
    let known = if known.is_empty() {
        "none: ingest files of TpuGraphs first".to_owned()
    } else {
        format!("{}, ...", known.join(", "))
    };
    Error::Unknown {
        kind: "training file",
        name: name.to_owned(),
        known,
    }
}

pub(super) async fn files(loader: &Loader) -> Result<Vec<TrainingFile>> {
    let sql = "SELECT id, split, source_id, graph_id, \
                      record_count - coalesce(retracted_count, 0) AS samples FROM sources \
               LEFT JOIN (SELECT source_id AS retracted_id, count(*) AS retracted_count \
                          FROM stored.retracted GROUP BY source_id) ON retracted_id = source_id \
               WHERE graph_id IS NOT NULL AND same_as IS NULL \
                 AND record_count > coalesce(retracted_count, 0) ORDER BY id, source_id";
    let mut files = Vec::new();
    for batch in loader.collect(sql).await? {
        let (ids, splits) = (
            crate::column::text(&batch, "id")?,
            crate::column::text(&batch, "split")?,
        );
        let integers = crate::column::numbers::<arrow::datatypes::Int64Type>;
        let (sources, graphs) = (
            integers(&batch, "source_id")?,
            integers(&batch, "graph_id")?,
        );
        let samples = integers(&batch, "samples")?;
        for row in 0..batch.num_rows() {
            files.push(TrainingFile {
                id: ids.value(row).to_owned(),
                split: crate::column::text_at(splits, row).map(str::to_owned),
                sample_count: u64::try_from(samples.value(row)).unwrap_or_default(),
                source_id: sources.value(row),
                graph_id: graphs.value(row),
            });
        }
    }
    Ok(files)
}
