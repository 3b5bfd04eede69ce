//! `tsql score matrix`: scores of several models on several platforms.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray};
use clap::{Args, ValueEnum};
use tsql_ml::score::{ScoreMatrix, Scoring, score_matrix};
use tsql_store::Store;

use super::super::outcome::{DONE, Failure};
use super::super::output::{show, write_json};
use super::super::printer::Format;
use super::super::stderr::print_message;
use super::scope::{Failed, Scope};

/// Width of a PNG in pixels.
const PNG_WIDTH: u32 = 1600;

/// Score several models on each platform, as in TenSet's figure 6b
///
/// Each row is a model, each column a platform. A score is the total of `tsql score tenset` or `tsql score tlp` over the
/// records of that platform: the mean of networks, or of tasks without network_info. `random` is the expected score of a
/// random order. Predictions without a `platform` apply to all platforms, so a model that was trained on one platform
/// shows how it transfers to the others. With --allow-missing, a platform without predictions of a model is empty.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql score matrix --model gbdt=gbdt.parquet --model mlp=mlp.parquet \\\n      \
    --split by-task@1\n  \
    tsql score matrix --model k80=from_k80.csv --model t4=from_t4.csv \\\n      \
    --metric top_5 --plot transfer.svg")]
pub(super) struct Matrix {
    /// A model: its name, and its predictions as for `tsql score tenset`
    #[arg(long = "model", value_name = "NAME=PREDICTIONS", required = true, value_parser = parse_model)]
    models: Vec<(String, String)>,
    /// Table whose totals are shown
    #[arg(long, value_enum, default_value_t = Table::Tenset)]
    scoring: Table,
    /// Metric of the matrix [default: pairwise_accuracy; top_1 for TLP]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Treatment of failed records
    #[arg(long, value_enum, default_value_t = Failed::Tenset)]
    variant: Failed,
    /// Draw the matrix as a heat map: FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    /// TenSet's tables 3 and 4
    Tenset,
    /// TLP's table
    Tlp,
}

/// Splits `NAME=PREDICTIONS`.
fn parse_model(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, predictions)) if !name.is_empty() && !predictions.is_empty() => {
            Ok((name.to_owned(), predictions.to_owned()))
        }
        _ => Err("expected NAME=PREDICTIONS, such as gbdt=gbdt.parquet".to_owned()),
    }
}

pub(super) async fn run(store: &Store, command: Matrix) -> Result<u8, Failure> {
    let scoring = match command.scoring {
        Table::Tenset => Scoring::Tenset,
        Table::Tlp => Scoring::Tlp,
    };
    let options = command.scope.options(command.variant);
    let matrix = score_matrix(store, scoring, &command.models, &options).await?;
    let metric = command.metric.as_deref();
    let place = matrix.metric(metric)?;
    let output = &command.scope.output;
    let format = output.resolve_format()?;
    if format == Format::Json {
        write_json(serde_json::to_string_pretty(&matrix), output)?;
    } else {
        let is_rounded = matches!(format, Format::Table | Format::Markdown | Format::Latex);
        let columns = columns(&matrix, place, is_rounded);
        let columns = columns.iter();
        show(
            columns.map(|(name, column)| (name.as_str(), Arc::clone(column))),
            output,
        )
        .await?;
    }
    if let Some(path) = &command.plot {
        matrix.draw(metric, path, PNG_WIDTH)?;
    }
    print_notes(&matrix, place);
    Ok(DONE)
}

/// Returns a row for each model and a column for each platform.
fn columns(matrix: &ScoreMatrix, metric: usize, is_rounded: bool) -> Vec<(String, ArrayRef)> {
    let models: StringArray = matrix.models.iter().map(Some).collect();
    let mut columns: Vec<(String, ArrayRef)> = vec![("model".to_owned(), Arc::new(models))];
    for platform in &matrix.platforms {
        let scores = matrix.models.iter().map(|model| {
            let score = matrix.cell(model, platform)?.scores.get(metric)?.value;
            score.map(|score| super::score_tables::round(score, is_rounded))
        });
        columns.push((platform.clone(), Arc::new(scores.collect::<Float64Array>())));
    }
    columns
}

/// Prints facts that the table does not contain.
fn print_notes(matrix: &ScoreMatrix, metric: usize) {
    let scope = match &matrix.split {
        Some(split) => format!("`{}` of the split `{split}`", matrix.part),
        None => "no split: a model may have been trained on any of these records".to_owned(),
    };
    let name = matrix.metrics.get(metric).map_or("", String::as_str);
    print_message(&format!("{name} of each platform, {scope}"));
    for cell in &matrix.cells {
        if let Some(reason) = &cell.reason {
            print_message(&format!("`{}` on {}: {reason}", cell.model, cell.platform));
        }
    }
}
