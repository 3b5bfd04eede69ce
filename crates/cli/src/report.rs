//! `tsql report`: an HTML report of a store, and the report of GraphNet's benchmarks.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use clap::{Args, Subcommand, ValueEnum};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;
use tsql_ml::graphnet;
use tsql_ml::graphnet::ReportOptions;

use super::outcome::{DONE, Failure};
use super::output::{Layout, show};
use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Tolerances that the table shows; `scores.csv` has all.
const SHOWN: [i32; 4] = [-5, 0, 1, 3];

/// Write a report: the store as an HTML page, or the scores of GraphNet's benchmarks
#[derive(Args, Debug)]
pub(super) struct Report {
    #[command(subcommand)]
    dataset: Dataset,
}

#[derive(Subcommand, Debug)]
enum Dataset {
    #[cfg(feature = "plot")]
    Html(super::html_report::Page),
    Graphnet(Graphnet),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Tolerated {
    /// Wrong values from t = 1, everything else from t = 3
    Default,
    /// Mismatches from t = 2, errors at run time from 3, failed compilations from 4
    MismatchExtended,
}

/// Compute S(t), ES(t) and the distribution of speedups of GraphNet's benchmark runs
///
/// Writes the curves and a violin plot per category as SVG and PNG, and their numbers as CSV: speedup_score,
/// error_aware_speedup_score, speedups, scores.csv, speedups.csv. SQL expressions may use all columns of `runs`, `name`
/// (of the log), and `source`, `heuristic_tag` and `framework` of the sample.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql report graphnet -o report/\n  \
    tsql report graphnet -o report/ --by compiler \\\n      \
    --where \"hardware LIKE '%A100%'\"\n  \
    tsql report graphnet -o report/ --category source \\\n      \
    --tolerated mismatch_extended")]
struct Graphnet {
    /// Folder for the files
    #[arg(short, long, alias = "to", value_name = "DIR")]
    output: PathBuf,
    /// SQL condition over `runs`
    #[arg(long = "where", value_name = "SQL", default_value = "true")]
    predicate: String,
    /// SQL expression with one curve per value [default: the name of the log]
    #[arg(long, value_name = "SQL")]
    by: Option<String>,
    /// SQL expression with one violin per value [default: the sample's heuristic_tag, or the compiler if no sample has
    /// one]
    #[arg(long, value_name = "SQL")]
    category: Option<String>,
    /// Exponent p of the penalty on slowdowns
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    penalty: f64,
    /// Speedup b of a failure
    #[arg(long, value_name = "B", default_value_t = 0.1)]
    failure: f64,
    /// Failures that ES(t) tolerates
    #[arg(long, value_enum, default_value = "default")]
    tolerated: Tolerated,
    /// Width of the PNG files in pixels, 800 to 8000; text and lines scale with it
    #[arg(long, value_name = "PIXELS", default_value_t = 1600)]
    width: u32,
    #[command(flatten)]
    layout: Layout,
}

pub(super) async fn run(place: &StoreOptions, command: Report) -> Result<u8, Failure> {
    #[cfg_attr(
        not(feature = "plot"),
        allow(
            clippy::infallible_destructuring_match,
            reason = "there is one report without plots"
        )
    )]
    let command = match command.dataset {
        #[cfg(feature = "plot")]
        Dataset::Html(command) => return super::html_report::run(place, command).await,
        Dataset::Graphnet(command) => command,
    };
    if command.output.extension().is_some() && !command.output.is_dir() {
        let reason = format!(
            "`{}` is a file name, expected a folder for the report\n\
             hint: `--format csv > {0}` writes the table to a file",
            command.output.display()
        );
        return Err(Failure::Usage(reason));
    }
    let options = ReportOptions::default()
        .predicate(command.predicate.as_str())
        .p(command.penalty)
        .b(command.failure)
        .mismatch_extended(command.tolerated == Tolerated::MismatchExtended)
        .set_if(command.by, ReportOptions::group_by)
        .set_if(command.category, ReportOptions::category);
    let report = graphnet::report(&place.open().await?, &options).await?;
    if report.curves.is_empty() {
        let which = match command.predicate.as_str() {
            "true" => "no GraphNet benchmark runs".to_owned(),
            predicate => format!("no GraphNet benchmark runs where {predicate}"),
        };
        let hint = "`tsql \"SELECT * FROM runs LIMIT 5\"` shows existing runs";
        let reason = format!("the store has {which}\nhint: {hint}");
        return Err(Error::Empty(reason).into());
    }
    let written = report.write(&command.output, command.width)?;
    let curves = &report.curves;
    let names = curves.iter().map(|curve| curve.name.as_str());
    let runs = curves
        .iter()
        .map(|curve| i64::try_from(curve.runs).unwrap_or(i64::MAX));
    let mut columns: Vec<(String, ArrayRef)> = vec![
        (
            "curve".to_owned(),
            Arc::new(StringArray::from_iter_values(names)),
        ),
        (
            "runs".to_owned(),
            Arc::new(Int64Array::from_iter_values(runs)),
        ),
    ];
    for t in SHOWN {
        let score = |curve: &graphnet::Curve| {
            let at = curve.points.iter().find(|at| at.t == t);
            at.map(|at| at.es)
        };
        let scores: Float64Array = curves.iter().map(score).collect();
        columns.push((format!("es({t})"), Arc::new(scores)));
    }
    let aggregates = curves.iter().map(|curve| curve.aggregate);
    let aggregates = Float64Array::from_iter_values(aggregates);
    columns.push(("aggregate".to_owned(), Arc::new(aggregates)));
    show(
        columns
            .iter()
            .map(|(name, column)| (name.as_str(), Arc::clone(column))),
        &command.layout.output(),
    )
    .await?;
    for path in written {
        print_message(&path.display().to_string());
    }
    Ok(DONE)
}
