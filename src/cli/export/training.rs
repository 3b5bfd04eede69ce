//! `tsql export --format training`: rows with features, labels and groups.

use std::io::Write as _;
use std::path::Path;

use clap::Args;

use crate::cli::outcome::{DONE, Failure, PARTLY};
use crate::cli::talk::{counted, talk};
use crate::error::Error;
use crate::store::Store;
use crate::tpugraphs::{GraphFilesOptions, verify_graph_files, write_graph_files};
use crate::training::{FileForm, Label, LargeGroups, TrainingFilesOptions, TrainingManifest};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "With --format training")]
pub(super) struct Training {
    /// Instead of records graphs of TpuGraphs, an npz file each with edges by node (CSR) and configurations as codes: files or
    /// collections, with commas between; in the parts that their paths say, or of --split
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "format",
        conflicts_with = "features"
    )]
    graphs: Vec<String>,
    /// Features, with commas between: schedule_numbers, tlp_tokens, workload_shape, op_histogram, node_features_sum,
    /// node_features_mean, node_features_max, graphnet_op_histogram, graphnet_tensor_histogram (`tsql describe --function NAME` says what
    /// their elements are), and imported ones: NAME, or NAME@VERSION (`tsql import features`)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "format")]
    features: Vec<String>,
    /// A folder for each part of this split [default: all rows in one folder]
    #[arg(long, value_name = "NAME@VERSION", requires = "format")]
    split: Option<String>,
    /// Only these parts of the split, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "split")]
    parts: Vec<String>,
    /// Rows that stay together as a query: task, graph, file, columns of `records`, or none
    #[arg(long, value_name = "COLUMNS", default_value = "task")]
    group: String,
    /// What is to be predicted: valid, tenset, metaschedule
    #[arg(long, value_name = "NAME", default_value = "valid")]
    label: String,
    /// How rows are written: parquet, arrow, npz
    #[arg(long, value_name = "FORM", default_value = "parquet")]
    files: String,
    /// Rows of a query at most
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    group_rows: u64,
    /// What becomes of a group that has more: refused, cut, sampled
    #[arg(long, value_name = "HOW", default_value = "refused")]
    large_groups: String,
    /// Leave out rows that have no value of a feature
    #[arg(long)]
    skip_null: bool,
    /// Add weights by which all values of this SQL over `records` count the same
    #[arg(long, value_name = "SQL", requires = "format")]
    balance: Option<String>,
    /// Seed of rows that are chosen at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Training {
    fn options(
        &self,
        predicate: Option<&str>,
        overwrite: bool,
    ) -> Result<TrainingFilesOptions, Error> {
        let mut options = TrainingFilesOptions::new(&self.features)
            .parts(&self.parts)
            .label(Label::named(&self.label)?)
            .form(FileForm::named(&self.files)?)
            .group_rows(self.group_rows, LargeGroups::named(&self.large_groups)?)
            .skip_null(self.skip_null)
            .seed(self.seed)
            .overwrite(overwrite);
        options = match self.group.as_str() {
            "none" => options.ungrouped(),
            group => options.group(group),
        };
        if let Some(predicate) = predicate {
            options = options.predicate(predicate);
        }
        if let Some(split) = &self.split {
            options = options.split(split);
        }
        if let Some(family) = &self.balance {
            options = options.balance(family);
        }
        Ok(options)
    }
}

/// Writes files for training.
pub(super) async fn write(
    store: &Store,
    training: &Training,
    predicate: Option<&str>,
    folder: &Path,
    overwrite: bool,
    memory_limit_bytes: Option<usize>,
) -> Result<u8, Failure> {
    let to = folder.to_string_lossy();
    if !training.graphs.is_empty() {
        if predicate.is_some() {
            let reason = "--graphs names files and collections: --where is of records".to_owned();
            return Err(Failure::Usage(reason));
        }
        let mut options = GraphFilesOptions::new(&training.graphs).overwrite(overwrite);
        if let Some(split) = &training.split {
            options = options.split(split);
        }
        told(&write_graph_files(store, &to, &options).await?);
        return Ok(DONE);
    }
    let mut options = training.options(predicate, overwrite)?;
    if let Some(bytes) = memory_limit_bytes {
        options = options.memory_limit_bytes(bytes);
    }
    let manifest = store.write_training_files(&to, &options).await?;
    told(&manifest);
    Ok(DONE)
}

/// Says what is in a folder.
pub(super) fn told(manifest: &TrainingManifest) {
    let whole = manifest.graphs.is_some();
    for part in &manifest.parts {
        let rows = counted(part.rows, "row");
        let groups = match (part.groups, whole) {
            (0, _) => String::new(),
            (groups, true) => format!(" of {}", counted(groups, "graph")),
            (groups, false) => format!(
                " in {}, the largest of {}",
                counted(groups, "group"),
                counted(part.largest_group, "row")
            ),
        };
        let bytes: u64 = part.files.iter().map(|file| file.bytes).sum();
        talk(&format!("{}: {rows}{groups}, {bytes} bytes", part.name));
    }
    let left = &manifest.left_out;
    let nulls: u64 = left.null_features.values().sum();
    for (count, why) in [
        (left.failed, "failed"),
        (left.unmeasured, "not measured or withheld"),
        (left.without_cost, "without a time above 0"),
        (left.without_part, "in no part of the split"),
        (left.other_parts, "in other parts"),
        (nulls, "without a value of a feature"),
        (left.over_limit, "of larger groups than --group-rows"),
    ] {
        if count > 0 {
            talk(&format!("left out: {} {why}", counted(count, "record")));
        }
    }
    if left.cut_groups > 0 {
        talk(&format!("cut: {}", counted(left.cut_groups, "group")));
    }
}

/// Compares files with their manifest, and with what they would be now.
pub(super) async fn verify(store: &Store, manifest: &Path) -> Result<u8, Failure> {
    let path = manifest.to_string_lossy();
    let verified = verify_graph_files(store, &path).await?;
    let mut out = crate::cli::stdout::stdout();
    for difference in &verified.differences {
        writeln!(out, "{difference}").map_err(Error::io("standard output"))?;
    }
    talk(&format!(
        "{} compared, {} made again: {}",
        counted(verified.file_count, "file"),
        counted(verified.rows, "row"),
        if verified.is_same() {
            "the same"
        } else {
            "not the same"
        },
    ));
    Ok(if verified.is_same() { DONE } else { PARTLY })
}
