//! Plans and writes a database.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_adapters::formats::lines::LineWriter;
use tsql_adapters::formats::{NO_PLATFORM, lines};
use tsql_dataset::export::export_paths::relative_path;
use tsql_dataset::export::target::ExportTarget;
use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_formats::export_manifest::ExportedFile;
use tsql_formats::metaschedule::{NAME, RECORDS_FILE, WORKLOADS_FILE, renumber, workload};
use tsql_formats::{Dialect, naming};

use super::database_content::DatabaseContent;
use super::exported::{DatabaseOptions, ExportedDatabase};
use super::output::Output;
use super::selection::{SelectedRecords, select_records};
use super::workload_order::order_workloads;

pub(crate) use tsql_adapters::formats::metaschedule::stored_workloads::{
    WorkloadLine, workload_texts,
};
pub(crate) use tsql_dataset::export::target::ExportOutcome;

/// Number of workloads whose modules are in memory at once.
const CHUNK: usize = 64;

/// Plans and writes a database.
pub(super) struct DatabasePlan {
    platform: String,
    target: String,
    path: PathBuf,
    environments: BTreeSet<i64>,
    /// In file order.
    workloads: Vec<WorkloadLine>,
    /// Workload position of each graph of its records.
    places: HashMap<i64, i32>,
    labels: BTreeMap<String, String>,
}

/// Result of writing a database.
pub(super) enum WriteOutcome {
    Files(ExportedDatabase),
    Refused(String),
}

impl DatabasePlan {
    /// Plans all databases of the records that a predicate selects.
    pub(super) async fn all(context: &SessionContext, predicate: &str) -> Result<Vec<Self>> {
        let selected = select_records(context, predicate).await?;
        let known = DatabaseContent::load(context).await?;
        let mut groups: BTreeMap<(String, String), Vec<SelectedRecords>> = BTreeMap::new();
        for rows in selected {
            let source = known.sources.get(&rows.source_id);
            let platform = source.map_or_else(String::new, |source| source.platform.clone());
            let target = known.targets.get(&rows.environment_id).cloned();
            let target = target.unwrap_or_default();
            groups.entry((platform, target)).or_default().push(rows);
        }
        let mut names = HashSet::new();
        let mut plans = Vec::new();
        for ((platform, target), rows) in groups {
            let kind = target_kind(&target);
            let numbered = (2..).map(|number| format!("{kind}-{number}"));
            let folders = std::iter::once(kind.clone()).chain(numbered);
            let mut paths = folders.map(|folder| Path::new(&folder).join(relative_path(&platform)));
            let path = paths.find(|path| names.insert(path.clone()));
            let labels = common_labels(&known, &rows);
            let (workloads, places) = order_workloads(&known, &rows)?;
            plans.push(Self {
                path: path.unwrap_or_default(),
                environments: rows.iter().map(|rows| rows.environment_id).collect(),
                platform,
                target,
                workloads,
                places,
                labels,
            });
        }
        Ok(plans)
    }

    pub(super) fn folder(&self) -> String {
        naming::path_to_text(&self.path)
    }

    /// Writes both files, or neither.
    pub(super) async fn write(
        &self,
        context: &SessionContext,
        predicate: &str,
        (folder, scratch): (&Path, &Arc<Scratch>),
        options: &DatabaseOptions,
    ) -> Result<WriteOutcome> {
        let path = |name: &str| folder.join(&self.path).join(name);
        let (records_path, workloads_path) = (path(RECORDS_FILE), path(WORKLOADS_FILE));
        let exists = |path: &Path| fs::symlink_metadata(path).is_ok();
        if !options.overwrite && exists(&records_path) != exists(&workloads_path) {
            let reason = "one of the two files of a database already exists, expected neither";
            return Ok(WriteOutcome::Refused(reason.to_owned()));
        }
        let open =
            |path: &Path| ExportTarget::open(scratch, path.to_owned(), None, options.overwrite);
        let mut workloads = Output::new(open(&workloads_path)?);
        for chunk in self.workloads.chunks(CHUNK) {
            for text in workload_texts(context, chunk).await? {
                workloads.write_line(&text)?;
            }
        }
        let mut records = Output::new(open(&records_path)?);
        self.write_records(context, predicate, &mut records).await?;
        if options.overwrite && exists(&records_path) {
            // Records never exist next to foreign workloads, even after a crash.
            fs::remove_file(&records_path).map_err(Error::io(&records_path))?;
        }
        let database = ExportedDatabase {
            folder: self.folder(),
            platform: self.platform.clone(),
            target: self.target.clone(),
            records: records.lines,
            workloads: workloads.lines,
        };
        for output in [workloads, records] {
            if let ExportOutcome::Refused(reason) = output.keep()? {
                return Ok(WriteOutcome::Refused(reason));
            }
        }
        Ok(WriteOutcome::Files(database))
    }

    async fn write_records(
        &self,
        context: &SessionContext,
        predicate: &str,
        out: &mut Output,
    ) -> Result<()> {
        let environments: Vec<String> = self.environments.iter().map(i64::to_string).collect();
        let own = format!(
            "({predicate}) AND platform = '{}' AND environment_id IN ({})",
            self.platform.replace('\'', "''"),
            environments.join(", ")
        );
        let mut spelled = LineWriter::load(context, Dialect::METASCHEDULE).await?;
        let mut rows = lines::select_records(context, &format!("'{NAME}'"), &own).await?;
        let mut line = Vec::new();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let mut lines = spelled.for_batch(&batch)?;
            for row in lines::record_rows(&batch)? {
                line.clear();
                lines.write(&row, false, &mut line)?;
                while line.last() == Some(&b'\r') {
                    line.pop();
                }
                let place = self.places.get(&row.graph_id()).copied();
                let renumbered = place.and_then(|place| renumber(&line, place));
                let renumbered = renumbered.ok_or_else(|| {
                    let reason = format!("a record of source {} has no workload", row.source_id());
                    Error::damaged("records", reason)
                })?;
                out.write_line(&renumbered)?;
            }
        }
        Ok(())
    }

    /// Returns the entries of both files in the list of exported files.
    pub(super) fn exported_files(&self) -> [ExportedFile; 2] {
        [
            (WORKLOADS_FILE, workload::NAME, NO_PLATFORM),
            (RECORDS_FILE, NAME, self.platform.as_str()),
        ]
        .map(|(file, dataset, platform)| {
            let path = naming::path_to_text(&self.path.join(file));
            let has_labels = dataset == NAME;
            ExportedFile {
                name: path.clone(),
                path,
                dataset: dataset.to_owned(),
                platform: platform.to_owned(),
                collection: None,
                split: None,
                hub_path: None,
                labels: if has_labels {
                    self.labels.clone()
                } else {
                    BTreeMap::new()
                },
            }
        })
    }
}

/// Returns the labels that all sources of a database share.
fn common_labels(known: &DatabaseContent, rows: &[SelectedRecords]) -> BTreeMap<String, String> {
    let ids: BTreeSet<i64> = rows.iter().map(|rows| rows.source_id).collect();
    let sources = ids.iter().filter_map(|id| known.sources.get(id));
    let labels = sources.map(|source| source.labels.clone().into_map());
    let common = labels.reduce(|mut common, own| {
        common.retain(|key, value| own.get(key) == Some(value));
        common
    });
    common.unwrap_or_default()
}

/// Returns the kind of a target, as the name of a folder.
fn target_kind(target: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(target).ok();
    let kind = parsed
        .as_ref()
        .and_then(|target| target.get("kind")?.as_str());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let kind: String = kind
        .unwrap_or_default()
        .chars()
        .filter(|c| is_plain(*c))
        .collect();
    if kind.is_empty() {
        return "no-target".to_owned();
    }
    kind
}
