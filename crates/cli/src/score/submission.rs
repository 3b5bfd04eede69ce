//! Scores of a submission to Kaggle's "Fast or Slow?", computed as Kaggle did.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use tsql_ml::tpugraphs::{is_submission, score_submission};
use tsql_store::Store;

use super::super::outcome::{DONE, Failure, PARTLY};
use super::super::output::{Output, show};
use super::super::stderr::{count_noun, print_message};

/// Maximum number of listed rows without a score.
const SHOWN: usize = 10;

/// Maximum number of bytes of a first line that are read.
const LONGEST: u64 = 1 << 10;

/// Returns whether a file is a submission.
pub(super) fn is_one(path: &Path) -> bool {
    let mut header = String::new();
    let file = std::fs::File::open(path).map(BufReader::new);
    let read = file.and_then(|mut file| file.by_ref().take(LONGEST).read_line(&mut header));
    read.is_ok() && is_submission(&header)
}

pub(super) async fn run(
    store: &Store,
    file: &Path,
    rows: bool,
    output: &Output,
) -> Result<u8, Failure> {
    let scored = score_submission(store, file).await?;
    let bad: Vec<_> = scored
        .rows
        .iter()
        .filter(|row| row.score.is_err())
        .collect();
    let path = file.display();
    for row in bad.iter().take(SHOWN) {
        if let Err(reason) = &row.score {
            print_message(&format!("{path}:{}: {}: {reason}", row.line, row.id));
        }
    }
    if bad.len() > SHOWN {
        print_message(&format!(
            "... and {} more rows without a score",
            bad.len() - SHOWN
        ));
    }
    if rows {
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
        show(columns, output).await?;
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
        show(columns, output).await?;
    }
    if scored.score.is_none() {
        print_message("no total score: it is the mean of five collections, and some have no score");
    }
    if bad.is_empty() {
        return Ok(DONE);
    }
    print_message(&format!(
        "{} of {} without a score",
        bad.len(),
        count_noun(scored.rows.len() as u64, "row")
    ));
    Ok(PARTLY)
}
