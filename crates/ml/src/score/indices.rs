//! Evaluation indices: the configurations that TpuGraphs' tables use of each file.
//!
//! They are in `eval_indices/{xla,nlp}_{default,random}.json` of its repository: an object with 1,000 indices by file
//! name. A repeated index counts repeatedly: all 481 configurations of `unet_3d.4x4.bf16` in `xla_random` occur about
//! twice.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ahash::RandomState;
use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};
use tsql_session::key_columns::source_error;

use super::ids::file_ids;
use super::options::{ScoreOptions, Scoring};

/// Multiplicity of records, by file and line.
pub(super) struct EvaluationIndices {
    /// Multiplicity by source id, then by line.
    files: BTreeMap<i64, HashMap<i64, u32, RandomState>>,
    from: String,
}

impl EvaluationIndices {
    /// Loads the indices that the options name.
    ///
    /// # Errors
    /// As [`Self::read`]; [`Error::Argument`] for another dataset.
    pub(super) async fn load(
        context: &SessionContext,
        scoring: Scoring,
        options: &ScoreOptions,
    ) -> Result<Option<Self>> {
        let Some(path) = &options.evaluation_indices else {
            return Ok(None);
        };
        if scoring != Scoring::Tpugraphs {
            return Err(Error::Argument {
                name: "evaluation_indices",
                reason: format!(
                    "evaluation indices are supported only for TpuGraphs, found {}",
                    scoring.name()
                ),
            });
        }
        Self::read(context, path, options.allow_missing)
            .await
            .map(Some)
    }

    /// Reads a file, or all files of a folder.
    ///
    /// # Errors
    /// [`Error::Source`] for a malformed file, and if the store lacks graphs that it names, unless `allow_missing`;
    /// [`Error::Empty`] if the store has none of them.
    async fn read(context: &SessionContext, path: &Path, allow_missing: bool) -> Result<Self> {
        let from = path.display().to_string();
        let ids = file_ids(context).await?;
        let mut known: HashMap<String, Vec<i64>> = HashMap::new();
        for (source, id) in ids {
            known.entry(id).or_default().push(source);
        }
        let (mut files, mut missing) = (BTreeMap::new(), Vec::new());
        for path in paths(path)? {
            let collection = collection(&path)?;
            for (name, indices) in indices(&path)? {
                let id = format!("{collection}:{name}");
                let source_id = match known.get(&id).map(Vec::as_slice) {
                    Some(&[source_id]) => source_id,
                    Some(several) => return Err(ambiguous(&from, &id, several)),
                    None => {
                        missing.push(id);
                        continue;
                    }
                };
                let mut lines = HashMap::default();
                for index in indices {
                    // Line numbers start at 1.
                    *lines.entry(i64::from(index) + 1).or_insert(0) += 1;
                }
                files.insert(source_id, lines);
            }
        }
        if files.is_empty() {
            return Err(Error::Empty(format!(
                "{from}: the store has none of its {} graphs\n\
                 hint: ingest the folder `npz/layout` of TpuGraphs, or a part of it with `valid`",
                missing.len()
            )));
        }
        if let Some(first) = missing.first()
            && !allow_missing
        {
            let reason = format!(
                "{} of its {} graphs are not in the store, such as {first}\n\
                 hint: --allow-missing skips these graphs",
                missing.len(),
                missing.len() + files.len()
            );
            return Err(source_error(&from, reason));
        }
        Ok(Self { files, from })
    }

    /// SQL predicate over `records` for the records of these files.
    pub(super) fn selection(&self) -> String {
        let numbers = self.files.keys().map(ToString::to_string);
        format!("source_id IN ({})", numbers.collect::<Vec<_>>().join(", "))
    }

    /// Multiplicity of a record.
    pub(super) fn count(&self, source_id: i64, line: i64) -> u32 {
        let lines = self.files.get(&source_id);
        lines
            .and_then(|lines| lines.get(&line))
            .copied()
            .unwrap_or(0)
    }

    /// Checks that the number of records that were read equals the number of indices.
    ///
    /// # Errors
    /// [`Error::Source`] for an index beyond the end of a file.
    pub(super) fn check_seen(&self, seen: u64) -> Result<()> {
        let counts = self.files.values().flat_map(HashMap::values);
        let wanted: u64 = counts.map(|count| u64::from(*count)).sum();
        if seen == wanted {
            return Ok(());
        }
        let reason = format!(
            "{} of its {wanted} indices match no scored record: graphs in the store are \
             incomplete, or belong to another part of the split",
            wanted.saturating_sub(seen)
        );
        Err(source_error(&self.from, reason))
    }
}

/// Error for a file that is in several sources.
fn ambiguous(from: &str, id: &str, sources: &[i64]) -> Error {
    let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
    let sources = sources.join(", ");
    let reason = format!(
        "{id} matches {count} files of the store\n\
         hint: SELECT name, platform FROM sources WHERE source_id IN ({sources}) lists them; \
         `tsql retract` removes wrong ones",
        count = sources.split(", ").count(),
    );
    source_error(from, reason)
}

/// The file itself, or the files of the folder.
fn paths(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(Error::io(path))?;
    let entries = entries.collect::<std::io::Result<Vec<_>>>();
    let entries = entries.map_err(Error::io(path))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let is_one = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    let mut paths: Vec<PathBuf> = paths.filter(is_one).collect();
    paths.sort();
    Ok(paths)
}

/// Collection of an index file: `layout:xla:default` for `xla_default.json`.
fn collection(path: &Path) -> Result<String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    match name.split_once('_') {
        Some((source @ ("xla" | "nlp"), search @ ("default" | "random"))) => {
            Ok(format!("layout:{source}:{search}"))
        }
        _ => {
            let reason = "its name is not that of a collection, expected xla_default.json, \
                xla_random.json, nlp_default.json or nlp_random.json";
            Err(source_error(&path.display().to_string(), reason.to_owned()))
        }
    }
}

fn indices(path: &Path) -> Result<BTreeMap<String, Vec<u32>>> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let read = serde_json::from_slice(&bytes);
    read.map_err(|error| {
        let reason = format!(
            "expected indices by graph name, such as `{{\"unet_3d.4x4.bf16\": [182, 145]}}`: {error}"
        );
        source_error(&path.display().to_string(), reason)
    })
}
