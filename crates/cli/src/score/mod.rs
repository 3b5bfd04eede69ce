//! `tsql score`: scores predictions against measurements.

mod matrix;
mod scope;
mod score_tables;
mod submission;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tsql_error::Error;
use tsql_ml::score::score;
use tsql_ml::score::{ScoreReport, Scoring};

use super::outcome::{DONE, Failure};
use super::output::{show, write_json};
use super::printer::Format;
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;
use scope::{Failed, Scope};

/// Score predictions against measurements
#[derive(Args, Debug)]
pub(super) struct Score {
    #[command(subcommand)]
    dataset: Dataset,
}

#[derive(Subcommand, Debug)]
enum Dataset {
    Tenset(Tuning),
    Tlp(Tlp),
    Tpugraphs(Tpugraphs),
    Graphnet(Graphnet),
    Matrix(matrix::Matrix),
}

/// Input and options of the scores of one model.
#[derive(Args, Debug)]
struct Common {
    /// Predictions: a Parquet, Arrow, CSV, JSON lines or npz file, or a query in parentheses
    ///
    /// Columns: `config_key`; either `prediction` (higher is faster) or `predicted_ns`; and `platform`, if the records
    /// have several.
    #[arg(value_name = "PREDICTIONS")]
    predictions: String,
    /// Show the confidence intervals of all scores, not only of the main ones
    #[arg(long)]
    all_intervals: bool,
    #[command(flatten)]
    scope: Scope,
}

/// Compute TenSet's tables 3 and 4: errors, rankings and top-k scores by network
///
/// By task if the store has no network_info. The table also contains a random order (expected value) and upper bounds:
/// the first repeat as a prediction of the others, and the first measurement of a configuration as a prediction of
/// repeated ones. TenSet reports `mean of networks`, TLP `ratio of sums`. Intervals are 95 % bootstrap intervals over
/// tasks.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql score tenset predictions.parquet --split by-task@1\n  \
    tsql score tenset predictions.csv --split by-task@1 \\\n      \
    --variant valid --format latex -o table.tex\n  \
    tsql score tenset predictions.npz --where \"platform = 't4'\" \\\n      \
    --allow-missing")]
struct Tuning {
    #[command(flatten)]
    common: Common,
    /// Treatment of failed records
    #[arg(long, value_enum, default_value_t = Failed::Tenset)]
    variant: Failed,
}

/// Compute TLP's table: top-k scores by network, and their ratio of sums
///
/// As `tsql score tenset`, with the columns and the sum of TLP.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql score tlp predictions.parquet --split tlp-five@1")]
struct Tlp {
    #[command(flatten)]
    tuning: Tuning,
}

/// Compute rankings and slowdowns of TpuGraphs by collection, or score a submission to Kaggle's "Fast or Slow?"
///
/// A submission has the header `ID,TopConfigs`: an ID is `<collection>:<name>`, TopConfigs are the indices of
/// configurations, fastest first, joined by `;`. The score of a tile row is 1 minus its top-5 error, of a layout row
/// Kendall's tau-b, of a collection the mean of its rows, and in total the mean of the five collections.
/// `tsql export submission` writes such a file. Any other file contains predictions by `config_key`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql score tpugraphs submission.csv\n  \
    tsql score tpugraphs submission.csv --rows --format csv -o rows.csv\n  \
    tsql score tpugraphs predictions.parquet --part valid\n  \
    tsql score tpugraphs predictions.parquet \\\n      \
    --evaluation-indices tpu_graphs/baselines/layout/eval_indices")]
struct Tpugraphs {
    #[command(flatten)]
    common: Common,
    /// Only the configurations that TpuGraphs draws for its tables: `eval_indices` of its repository, or one of its
    /// files
    ///
    /// These are 1,000 of each graph of `valid`; repeated configurations count again.
    #[arg(long, value_name = "PATH", conflicts_with = "rows")]
    evaluation_indices: Option<PathBuf>,
    /// Show the score of every row of a submission
    #[arg(long)]
    rows: bool,
}

/// S(t) and ES(t) of the runs that predictions choose for each graph of GraphNet
///
/// If a graph ran in several ways on a device, such as with several compilers, the run with the highest prediction
/// counts. `best` always chooses the best one, `random` any.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql score graphnet predictions.parquet --split by-graph@1")]
struct Graphnet {
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(place: &StoreOptions, command: Score) -> Result<u8, Failure> {
    let store = place.open().await?;
    let mut evaluation_indices = None;
    let (scoring, common, variant) = match command.dataset {
        Dataset::Tenset(tuning) => (Scoring::Tenset, tuning.common, tuning.variant),
        Dataset::Tlp(Tlp { tuning }) => (Scoring::Tlp, tuning.common, tuning.variant),
        Dataset::Matrix(command) => return matrix::run(&store, command).await,
        Dataset::Graphnet(graphnet) => (Scoring::Graphnet, graphnet.common, Failed::Tenset),
        Dataset::Tpugraphs(tpugraphs) => {
            let path = Path::new(&tpugraphs.common.predictions);
            if tpugraphs.rows || submission::is_one(path) {
                if tpugraphs.evaluation_indices.is_some() {
                    return Err(submission_error().into());
                }
                let path = PathBuf::from(&tpugraphs.common.predictions);
                return submission::run(
                    &store,
                    &path,
                    tpugraphs.rows,
                    &tpugraphs.common.scope.output,
                )
                .await;
            }
            evaluation_indices = tpugraphs.evaluation_indices;
            (Scoring::Tpugraphs, tpugraphs.common, Failed::Tenset)
        }
    };
    let mut options = common.scope.options(variant);
    let output = &common.scope.output;
    if let Some(path) = evaluation_indices {
        options = options.evaluation_indices(path);
    }
    let report = score(&store, scoring, &common.predictions, &options).await?;
    let format = output.resolve_format()?;
    if format == Format::Json {
        write_json(serde_json::to_string_pretty(&report), output)?;
    } else {
        let is_rounded = matches!(format, Format::Table | Format::Markdown | Format::Latex);
        let columns = score_tables::columns(&report, common.all_intervals, is_rounded);
        let columns = columns.iter();
        show(
            columns.map(|(name, column)| (name.as_str(), std::sync::Arc::clone(column))),
            output,
        )
        .await?;
    }
    print_notes(&report);
    Ok(DONE)
}

fn submission_error() -> Error {
    Error::Argument {
        name: "evaluation-indices",
        reason: "a submission ranks all configurations of a graph\n\
            hint: --evaluation-indices applies to predictions with a `config_key`"
            .to_owned(),
    }
}

/// Prints facts that the table does not contain.
fn print_notes(report: &ScoreReport) {
    let scope = match &report.split {
        Some(split) => format!("`{}` of the split `{split}`", report.part),
        None => "no split: a model may have been trained on any of these records".to_owned(),
    };
    let counts = [
        (report.failed, "failed"),
        (report.missing, "without a prediction"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let counts = match counts.is_empty() {
        true => String::new(),
        false => format!(" ({})", counts.join(", ")),
    };
    print_message(&format!(
        "{}{counts}, {scope}",
        count_noun(report.records, "record")
    ));
    if let Some(warning) = &report.split_warning {
        print_message(&format!("warning: this split leaks: {warning}"));
    }
    if matches!(report.scoring, Scoring::Tenset | Scoring::Tlp) && report.failed > 0 {
        print_message(match report.variant.as_str() {
            "valid" => "variant valid: failed records are left out",
            _ => {
                "variant tenset: a failed record costs 1e10 s, and 1e5 times the best if it is selected"
            }
        });
    }
    if report.resamples > 0 {
        print_message(&format!(
            "intervals: 95 %, from {} bootstrap samples of tasks, seed {}",
            report.resamples, report.seed
        ));
    }
    if report.invalid > 0 {
        print_message(&format!(
            "{} NaN, infinite or not a time: their groups have no score",
            count_noun(report.invalid, "prediction")
        ));
    }
    if report.unused > 0 {
        print_message(&format!(
            "{} for records that are not scored",
            count_noun(report.unused, "prediction")
        ));
    }
    for (metric, reason, tasks) in score_tables::left_out(report) {
        print_message(&format!(
            "{metric}: {} left out: {reason}",
            count_noun(tasks, "task")
        ));
    }
}
