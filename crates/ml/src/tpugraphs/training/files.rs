//! Files of TpuGraphs in a store, and their selection by name.

use serde::Serialize;
use tsql_adapters::formats::tpugraphs::Loader;
use tsql_error::{Error, Result};
use tsql_store::Store;

/// A file of TpuGraphs in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrainingFile {
    /// `<collection>:<name without .npz>`, as submissions call it.
    pub id: String,
    /// `train`, `valid` or `test`, if the file's path has it.
    pub split: Option<String>,
    /// Number of samples.
    pub sample_count: u64,
    pub(in crate::tpugraphs) source_id: i64,
    pub(super) graph_id: i64,
}

/// Returns all files of TpuGraphs in a store, by id.
///
/// # Errors
/// Failures of the storage.
pub async fn training_files(store: &Store) -> Result<Vec<TrainingFile>> {
    load_files(&Loader::new(store).await?).await
}

/// Selects files by name: see [`select`].
pub(in crate::tpugraphs) async fn select_training_files(
    store: &Store,
    names: &[&str],
) -> Result<Vec<TrainingFile>> {
    select(&training_files(store).await?, names, None)
}

/// Selects files by name, without duplicates, ordered by id. A name is an id, the end of an id after `:`, or a
/// collection.
///
/// # Errors
/// As [`find_file`]; [`Error::Empty`] if no file is of the split.
pub(super) fn select(
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
            Some(find_file(files, name)?)
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
        return Err(no_files(&named, split));
    }
    Ok(found)
}

/// Error if no file was named, or none of the named files is of the split.
fn no_files(named: &[&TrainingFile], split: Option<&str>) -> Error {
    let Some(split) = split.filter(|_| !named.is_empty()) else {
        return Error::Empty("no files are given, expected files or collections".to_owned());
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
        "none of {} files belongs to the dataset split `{split}`\nhint: their dataset splits are {there}",
        named.len()
    ))
}

/// Returns the file with this id, or whose id ends in `:name`.
///
/// # Errors
/// [`Error::Unknown`] if there is none, [`Error::Ambiguous`] if there are several.
pub(super) fn find_file<'a>(files: &'a [TrainingFile], name: &str) -> Result<&'a TrainingFile> {
    let exact = files.iter().filter(|file| file.id == name);
    let mut found: Vec<&TrainingFile> = exact.collect();
    if found.is_empty() {
        let suffix = format!(":{name}");
        found.extend(files.iter().filter(|file| file.id.ends_with(&suffix)));
    }
    match found.as_slice() {
        [file] => Ok(file),
        [] => Err(unknown_file(name, files)),
        several => {
            let ids: Vec<&str> = several.iter().map(|file| file.id.as_str()).collect();
            let ids = ids.join(", ");
            Err(Error::Ambiguous(format!(
                "`{name}` matches several files: {ids}"
            )))
        }
    }
}

/// Maximum number of ids in an error.
const LISTED: usize = 5;

fn unknown_file(name: &str, files: &[TrainingFile]) -> Error {
    let ids = files.iter().map(|file| file.id.as_str());
    let close = ids.clone().filter(|id| id.contains(name));
    let mut known: Vec<&str> = close.take(LISTED).collect();
    if known.is_empty() {
        known = ids.take(LISTED).collect();
    }
    let known = if known.is_empty() {
        "none; ingest TpuGraphs files first".to_owned()
    } else {
        format!("{}, ...", known.join(", "))
    };
    Error::Unknown {
        kind: "training file",
        name: name.to_owned(),
        known,
    }
}

pub(super) async fn load_files(loader: &Loader) -> Result<Vec<TrainingFile>> {
    let sql = "SELECT id, split, source_id, graph_id, \
                      record_count - coalesce(retracted_count, 0) AS samples FROM sources \
               LEFT JOIN (SELECT source_id AS retracted_id, count(*) AS retracted_count \
                          FROM stored.retracted GROUP BY source_id) ON retracted_id = source_id \
               WHERE graph_id IS NOT NULL AND same_as IS NULL \
                 AND record_count > coalesce(retracted_count, 0) ORDER BY id, source_id";
    let mut files = Vec::new();
    for batch in loader.collect(sql).await? {
        let (ids, splits) = (
            tsql_schema::column::text(&batch, "id")?,
            tsql_schema::column::text(&batch, "split")?,
        );
        let integers = tsql_schema::column::numbers::<arrow::datatypes::Int64Type>;
        let (sources, graphs) = (
            integers(&batch, "source_id")?,
            integers(&batch, "graph_id")?,
        );
        let samples = integers(&batch, "samples")?;
        for row in 0..batch.num_rows() {
            files.push(TrainingFile {
                id: ids.value(row).to_owned(),
                split: tsql_schema::column::text_at(splits, row).map(str::to_owned),
                sample_count: u64::try_from(samples.value(row)).unwrap_or_default(),
                source_id: sources.value(row),
                graph_id: graphs.value(row),
            });
        }
    }
    Ok(files)
}
