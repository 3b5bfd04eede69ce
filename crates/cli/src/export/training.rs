//! `tsql export training`: exports rows with features, targets and groups.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tsql_error::Error;
use tsql_ml::tpugraphs::{GraphFilesOptions, verify_graph_files, write_graph_files};
use tsql_ml::training::write_training_files;
use tsql_ml::training::{FileForm, Label, LargeGroups, TrainingFilesOptions, TrainingManifest};
use tsql_store::Store;
use tsql_store::atomic_output::check_outside;

use crate::outcome::{DONE, Failure, PARTLY};
use crate::stderr::{count_noun, print_message};

/// Write records as training data: rows with features, targets and groups
///
/// Rows are sorted by group, as LightGBM and XGBoost rank them; with --split there is a folder per part. A manifest
/// records everything that determines the rows, and --verify compares it with the store.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    tsql export training --features workload_shape -o rows\n  \
    tsql export training --features schedule_numbers,ansor@2 --split by-task@1 \\\n      \
    --file-format npz -o rows\n  \
    tsql export training --graphs layout:xla:random -o graphs\n  \
    tsql export training --verify rows/manifest.json")]
pub(super) struct Training {
    /// Folder for the files
    #[arg(short, long, value_name = "DIR", required_unless_present = "verify")]
    output: Option<PathBuf>,
    /// Compare existing training data with its manifest and with the store, and list the differences
    #[arg(long, value_name = "MANIFEST", conflicts_with = "output")]
    verify: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// SQL condition over `records`
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// Write TpuGraphs graphs instead of records, one npz file per graph with edges by node (CSR) and configurations as
    /// codes: files or collections, separated by commas, in the parts of their paths or of --split
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "features"
    )]
    graphs: Vec<String>,
    /// Features, separated by commas: schedule_numbers, tlp_tokens, workload_shape, op_histogram, node_features_sum,
    /// node_features_mean, node_features_max, graphnet_op_histogram, graphnet_tensor_histogram (`tsql describe NAME`
    /// lists their elements), and imported ones as NAME or NAME@REVISION (`tsql import features`)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    features: Vec<String>,
    /// One folder for each part of this split [default: all rows in one folder]
    #[arg(long, value_name = "NAME@VERSION")]
    split: Option<String>,
    /// Only these parts of the split, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "split")]
    parts: Vec<String>,
    /// Rows that form a group of the ranking: task, graph, file, columns of `records`, or none
    #[arg(long, value_name = "COLUMNS", default_value = "task")]
    group: String,
    /// Target that a model learns: valid, tenset, metaschedule
    #[arg(long, alias = "label", value_name = "NAME", default_value = "valid")]
    target: String,
    /// File format of the rows: parquet, arrow, npz
    #[arg(
        long,
        alias = "files",
        value_name = "FORMAT",
        default_value = "parquet"
    )]
    file_format: String,
    /// Maximum number of rows of a group
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    group_rows: u64,
    /// Treatment of groups with more rows: `rejected`, `cut` or `sampled`
    #[arg(long, value_name = "HOW", default_value = "rejected")]
    large_groups: String,
    /// Leave out rows without a value of a feature
    #[arg(long)]
    skip_null: bool,
    /// Add weights that balance the values of this SQL expression over `records`
    #[arg(long, value_name = "SQL")]
    balance: Option<String>,
    /// Seed of sampled rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

pub(super) async fn run(
    store: &Store,
    command: &Training,
    memory_limit_bytes: Option<usize>,
) -> Result<u8, Failure> {
    if let Some(manifest) = &command.verify {
        return verify(store, manifest).await;
    }
    let Some(folder) = &command.output else {
        return Err(Failure::Usage(
            "training data needs a folder\nhint: -o DIR".to_owned(),
        ));
    };
    check_outside(folder)?;
    write(store, command, folder, memory_limit_bytes).await
}

impl Training {
    fn options(&self) -> Result<TrainingFilesOptions, Error> {
        let mut options = TrainingFilesOptions::new(&self.features)
            .parts(&self.parts)
            .target(Label::parse(&self.target)?)
            .file_format(FileForm::parse(&self.file_format)?)
            .group_rows(self.group_rows, LargeGroups::parse(&self.large_groups)?)
            .skip_null(self.skip_null)
            .seed(self.seed)
            .overwrite(self.overwrite);
        options = match self.group.as_str() {
            "none" => options.without_groups(),
            group => options.group(group),
        };
        if let Some(predicate) = &self.predicate {
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
async fn write(
    store: &Store,
    training: &Training,
    folder: &Path,
    memory_limit_bytes: Option<usize>,
) -> Result<u8, Failure> {
    let to = folder.to_string_lossy();
    if !training.graphs.is_empty() {
        if training.predicate.is_some() {
            let reason =
                "--graphs selects files and collections; --where selects records".to_owned();
            return Err(Failure::Usage(reason));
        }
        let mut options = GraphFilesOptions::new(&training.graphs).overwrite(training.overwrite);
        if let Some(split) = &training.split {
            options = options.split(split);
        }
        report(&write_graph_files(store, &to, &options).await?);
        return Ok(DONE);
    }
    let mut options = training.options()?;
    if let Some(bytes) = memory_limit_bytes {
        options = options.memory_limit_bytes(bytes);
    }
    let manifest = write_training_files(store, &to, &options).await?;
    report(&manifest);
    Ok(DONE)
}

/// Reports the rows of each part.
fn report(manifest: &TrainingManifest) {
    let has_graphs = manifest.graphs.is_some();
    for part in &manifest.parts {
        let rows = count_noun(part.rows, "row");
        let groups = match (part.groups, has_graphs) {
            (0, _) => String::new(),
            (groups, true) => format!(" of {}", count_noun(groups, "graph")),
            (groups, false) => format!(
                " in {}, the largest of {}",
                count_noun(groups, "group"),
                count_noun(part.largest_group, "row")
            ),
        };
        let bytes: u64 = part.files.iter().map(|file| file.bytes).sum();
        print_message(&format!("{}: {rows}{groups}, {bytes} bytes", part.name));
    }
    let excluded = &manifest.excluded;
    let nulls: u64 = excluded.null_features.values().sum();
    for (count, why) in [
        (excluded.failed, "failed"),
        (excluded.unmeasured, "not measured or withheld"),
        (excluded.invalid_runtime, "without a time above 0"),
        (excluded.without_part, "in no part of the split"),
        (excluded.other_parts, "in other parts"),
        (nulls, "without a value of a feature"),
        (excluded.over_limit, "in groups larger than --group-rows"),
    ] {
        if count > 0 {
            print_message(&format!("left out: {} {why}", count_noun(count, "record")));
        }
    }
    if excluded.cut_groups > 0 {
        print_message(&format!(
            "cut: {}",
            count_noun(excluded.cut_groups, "group")
        ));
    }
}

/// Compares files with their manifest and with the store.
async fn verify(store: &Store, manifest: &Path) -> Result<u8, Failure> {
    let path = manifest.to_string_lossy();
    let verified = verify_graph_files(store, &path).await?;
    let mut out = crate::stdout::stdout();
    for difference in &verified.differences {
        writeln!(out, "{difference}").map_err(Error::io("standard output"))?;
    }
    print_message(&format!(
        "{} compared, {} recomputed: {}",
        count_noun(verified.file_count, "file"),
        count_noun(verified.rows, "row"),
        if verified.is_same() {
            "identical"
        } else {
            "different"
        },
    ));
    Ok(if verified.is_same() { DONE } else { PARTLY })
}
