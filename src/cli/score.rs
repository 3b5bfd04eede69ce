//! `tsql score`: predictions against what was measured.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use clap::{Args, Subcommand};

use super::outcome::{DONE, Failure, PARTLY};
use super::output::{Output, show};
use super::place::Place;
use super::talk::{counted, talk};
use crate::tpugraphs::score_submission;

/// Rows without a score that are told.
const TOLD: usize = 10;

/// Score predictions against what was measured
#[derive(Args, Debug)]
pub(super) struct Score {
    #[command(subcommand)]
    dataset: Dataset,
}

#[derive(Subcommand, Debug)]
enum Dataset {
    Tpugraphs(Tpugraphs),
}

/// Score a submission to Kaggle's "Fast or Slow?"
///
/// The file has the header `ID,TopConfigs`; an ID is `<collection>:<name>`, TopConfigs the indices
/// of configurations, the fastest first, joined by `;`. A tile row scores 1 minus its top-5 error,
/// a layout row Kendall's tau-b, a collection the mean of its rows, all the mean of the five
/// collections. `tsql export --format submission` writes such a file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql score tpugraphs submission.csv\n  \
    tsql score tpugraphs submission.csv --rows --format csv -o rows.csv")]
struct Tpugraphs {
    /// The submission
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show the score of every row
    #[arg(long)]
    rows: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &Place, command: Score) -> Result<u8, Failure> {
    let Dataset::Tpugraphs(command) = command.dataset;
    let store = place.open().await?;
    let scored = score_submission(&store, &command.file).await?;
    let bad: Vec<_> = scored
        .rows
        .iter()
        .filter(|row| row.score.is_err())
        .collect();
    let path = command.file.display();
    for row in bad.iter().take(TOLD) {
        if let Err(reason) = &row.score {
            talk(&format!("{path}:{}: {}: {reason}", row.line, row.id));
        }
    }
    if bad.len() > TOLD {
        talk(&format!(
            "... and {} more rows without a score",
            bad.len() - TOLD
        ));
    }
    if command.rows {
        let rows = &scored.rows;
        let columns: [(&str, ArrayRef); 3] = [
            (
                "id",
                Arc::new(StringArray::from_iter_values(
                    rows.iter().map(|row| &row.id),
                )),
            ),
            (
                "score",
                Arc::new(
                    rows.iter()
                        .map(|row| row.score.clone().ok())
                        .collect::<Float64Array>(),
                ),
            ),
            (
                "problem",
                Arc::new(
                    rows.iter()
                        .map(|row| row.score.clone().err())
                        .collect::<StringArray>(),
                ),
            ),
        ];
        show(columns, &command.output).await?;
    } else {
        let mut names: Vec<&str> = scored.collections.keys().map(String::as_str).collect();
        let means = scored.collections.values();
        let mut scores: Vec<Option<f64>> = means.clone().map(|(mean, _)| Some(*mean)).collect();
        let mut counts: Vec<i64> = means.map(|(_, count)| count.cast_signed()).collect();
        names.push("all");
        scores.push(scored.score);
        counts.push(counts.iter().sum());
        let columns: [(&str, ArrayRef); 3] = [
            ("collection", Arc::new(StringArray::from(names))),
            ("score", Arc::new(Float64Array::from(scores))),
            ("rows", Arc::new(Int64Array::from(counts))),
        ];
        show(columns, &command.output).await?;
    }
    if scored.score.is_none() {
        talk("no score of all: it is the mean of five collections, and some have none");
    }
    if bad.is_empty() {
        return Ok(DONE);
    }
    talk(&format!(
        "{} of {} without a score",
        bad.len(),
        counted(scored.rows.len() as u64, "row")
    ));
    Ok(PARTLY)
}
