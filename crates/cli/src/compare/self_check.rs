//! `tsql compare --self`: false alarms of the rule on a store.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use tsql_error::Error;
use tsql_ml::compare::{CompareOptions, SelfCheck, Side, check_rule};
use tsql_store::Store;

use super::format::CompareOutput;
use crate::outcome::{DONE, Failure, UNDECIDED};
use crate::output::{show, write_json};
use crate::printer::Format;
use crate::stderr::print_message;

/// Checks the rule on the records of a side, or of the store, at each of `changes` (fractions).
pub(super) async fn run(
    store: &Store,
    side: Option<&Side>,
    changes: &[f64],
    options: &CompareOptions,
    printed: &CompareOutput,
) -> Result<u8, Failure> {
    let output = printed.output();
    if printed.is_github() {
        return Err(Failure::Usage(
            "`--format github` needs two sides, and `--self` has one".to_owned(),
        ));
    }
    let checked = check_rule(store, side, changes, options).await;
    let found = match checked {
        Ok(found) => found,
        Err(Error::Empty(reason)) => {
            print_message(&format!("nothing was checked: {reason}"));
            return Ok(UNDECIDED);
        }
        Err(error) => return Err(error.into()),
    };
    if output.resolve_format()? == Format::Json {
        write_json(serde_json::to_string_pretty(&found), &output)?;
    } else {
        show(table(&found), &output).await?;
    }
    for class in found
        .classes
        .iter()
        .filter(|class| class.has_false_alarms())
    {
        print_message(&format!(
            "warning: on {} more than 5 % of unchanged pairs are called faster or slower\n\
             hint: use a larger --change there",
            class.class.platform
        ));
    }
    Ok(DONE)
}

/// A row for each class and change.
fn table(found: &SelfCheck) -> [(&'static str, ArrayRef); 12] {
    let classes = found.classes.iter();
    let rows: Vec<_> = classes
        .flat_map(|class| class.rates.iter().map(move |rates| (class, rates)))
        .collect();
    let numbers = |numbers: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(numbers)) };
    let counts = |counts: Vec<usize>| -> ArrayRef {
        let counts = counts
            .into_iter()
            .map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(counts))
    };
    let durations = |pick: fn((f64, f64)) -> f64| {
        let of = rows
            .iter()
            .map(|(class, _)| class.class.durations_ns().map(pick));
        numbers(of.collect())
    };
    let platforms = rows.iter().map(|(class, _)| class.class.platform.as_str());
    let rate = |pick: fn(&tsql_verdicts::calibration::Rate) -> f64| {
        let rates = rows.iter().map(|(_, rates)| {
            // Without a change every call is a false alarm.
            let rate = if rates.change > 0.0 {
                rates.slower
            } else {
                rates.called()
            };
            Some(pick(&rate))
        });
        numbers(rates.collect())
    };
    [
        (
            "platform",
            Arc::new(StringArray::from_iter_values(platforms)),
        ),
        ("from_ns", durations(|(from, _)| from)),
        ("to_ns", durations(|(_, to)| to)),
        (
            "pairs",
            counts(rows.iter().map(|(class, _)| class.pairs).collect()),
        ),
        (
            "injected",
            numbers(rows.iter().map(|(_, rates)| Some(rates.change)).collect()),
        ),
        (
            "faster",
            counts(rows.iter().map(|(_, rates)| rates.faster.called).collect()),
        ),
        (
            "slower",
            counts(rows.iter().map(|(_, rates)| rates.slower.called).collect()),
        ),
        (
            "same",
            counts(rows.iter().map(|(_, rates)| rates.same.called).collect()),
        ),
        (
            "unclear",
            counts(rows.iter().map(|(_, rates)| rates.unclear.called).collect()),
        ),
        ("called", rate(tsql_verdicts::calibration::Rate::value)),
        ("called_low", rate(|rate| rate.low)),
        ("called_high", rate(|rate| rate.high)),
    ]
}
