//! Tables of a comparison.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int16Array, Int64Array, StringArray};
use tsql_ml::compare::{Change, Comparison, Rule, Summary};

use crate::short_values::{format_number, truncate};

/// A row: kind, name, number of pairs, and their summary.
type Row<'a> = (&'static str, Option<&'a str>, u64, Option<&'a Summary>);

/// Returns the means and counts of all pairs, of operators and networks, and the counts of other pairs.
pub(super) fn summaries(found: &Comparison, rounded: bool) -> [(&'static str, ArrayRef); 10] {
    let (a, b) = (Some(found.a.name.as_str()), Some(found.b.name.as_str()));
    let counts = [
        ("only", a, found.only_a),
        ("only", b, found.only_b),
        ("newly failing", None, found.newly_failing),
        ("newly working", None, found.newly_working),
        ("failing", None, found.failing),
        ("same records", None, found.same_records),
    ];
    let counts = counts.into_iter().filter(|(_, _, count)| *count > 0);
    let counts = counts.map(|(kind, name, count)| (kind, name, count, None));
    let operators = found.operators.iter().map(|part| ("operator", part));
    let networks = found.networks.iter().map(|part| ("network", part));
    let parts = operators.chain(networks);
    let parts = parts.map(|(kind, part)| {
        let summary = &part.summary;
        (kind, part.name.as_deref(), summary.pairs, Some(summary))
    });
    let all = std::iter::once(("all", None, found.all.pairs, Some(&found.all)));
    let rows: Vec<Row<'_>> = all.chain(parts).chain(counts).collect();
    let texts = |get: fn(&Row<'_>) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let numbers = |get: fn(&Summary) -> Option<f64>| -> ArrayRef {
        let numbers = rows.iter().map(|row| get(row.3?));
        Arc::new(format_number(numbers, rounded))
    };
    let counts = |get: fn(&Summary) -> u64| -> ArrayRef {
        let counts = rows.iter().map(|row| Some(get(row.3?).cast_signed()));
        Arc::new(counts.collect::<Int64Array>())
    };
    let pairs = rows.iter().map(|row| row.2.cast_signed());
    [
        ("kind", texts(|row| Some(row.0.to_owned()))),
        ("name", texts(|row| row.1.map(str::to_owned))),
        ("pairs", Arc::new(Int64Array::from_iter_values(pairs))),
        ("speedup", numbers(|found| found.speedup)),
        ("speedup_low", numbers(|found| found.speedup_low)),
        ("speedup_high", numbers(|found| found.speedup_high)),
        ("faster", counts(|found| found.faster)),
        ("slower", counts(|found| found.slower)),
        ("same", counts(|found| found.same)),
        ("unclear", counts(|found| found.unclear)),
    ]
}

/// Returns the worst regressions, the best gains, unclear pairs, and new failures and fixes, each with the name of its
/// list. A pair is listed once.
fn rows(found: &Comparison) -> Vec<(&'static str, &Change)> {
    let lists = [
        ("regression", &found.regressions),
        ("gain", &found.gains),
        ("unclear", &found.unclear),
        ("newly failing", &found.failures),
        ("newly working", &found.fixes),
    ];
    let rows = lists.into_iter();
    let rows = rows.flat_map(|(kind, list)| list.iter().map(move |change| (kind, change)));
    let mut listed = HashSet::new();
    rows.filter(|(_, change)| listed.insert((change.graph_id, change.config_id, &change.platform)))
        .collect()
}

fn texts(rows: &[(&str, &Change)], get: fn(&Change) -> Option<&str>) -> ArrayRef {
    Arc::new(rows.iter().map(|row| get(row.1)).collect::<StringArray>())
}

fn reasons(rows: &[(&str, &Change)]) -> ArrayRef {
    texts(rows, |change| change.reason.map(|reason| reason.word()))
}

/// Returns all columns of the listed changes.
pub(super) fn changes(found: &Comparison) -> [(&'static str, ArrayRef); 25] {
    let rows = rows(found);
    let texts = |get| texts(&rows, get);
    let numbers = |get: fn(&Change) -> Option<f64>| -> ArrayRef {
        Arc::new(format_number(rows.iter().map(|row| get(row.1)), false))
    };
    let ids = |get: fn(&Change) -> i64| -> ArrayRef {
        let ids = rows.iter().map(|row| get(row.1));
        Arc::new(Int64Array::from_iter_values(ids))
    };
    let counts = |get: fn(&Change) -> Option<usize>| -> ArrayRef {
        let counts = rows.iter().map(|row| get(row.1));
        let counts = counts.map(|count| count.and_then(|count| i64::try_from(count).ok()));
        Arc::new(counts.collect::<Int64Array>())
    };
    let kind = rows.iter().map(|row| row.0);
    let errors = rows.iter().map(|row| row.1.error_no);
    let needed = rows.iter().map(|row| row.1.runs_needed.map(i64::from));
    [
        ("kind", Arc::new(StringArray::from_iter_values(kind))),
        ("verdict", texts(|change| Some(change.verdict))),
        ("speedup", numbers(|change| change.speedup)),
        ("speedup_low", numbers(|change| change.speedup_low)),
        ("speedup_high", numbers(|change| change.speedup_high)),
        ("a_ns", numbers(|change| change.a_ns)),
        ("b_ns", numbers(|change| change.b_ns)),
        ("change", numbers(|change| change.change)),
        ("low", numbers(|change| change.low)),
        ("high", numbers(|change| change.high)),
        ("p", numbers(|change| change.p)),
        ("p_corrected", numbers(|change| change.p_corrected)),
        ("detectable", numbers(|change| change.detectable)),
        ("reason", reasons(&rows)),
        ("runs_needed", Arc::new(needed.collect::<Int64Array>())),
        ("a_runs", counts(|change| change.a_runs)),
        ("b_runs", counts(|change| change.b_runs)),
        ("a_days", counts(|change| change.a_days)),
        ("b_days", counts(|change| change.b_days)),
        ("error_no", Arc::new(errors.collect::<Int16Array>())),
        ("platform", texts(|change| change.platform.as_deref())),
        ("workload_key", texts(|change| Some(&change.workload_key))),
        ("steps", texts(|change| change.steps.as_deref())),
        ("graph_id", ids(|change| change.graph_id)),
        ("config_id", ids(|change| change.config_id)),
    ]
}

/// Returns the main columns of the listed changes, with shortened texts.
pub(super) fn largest(found: &Comparison) -> Vec<(&'static str, ArrayRef)> {
    let rows = rows(found);
    let numbers = |get: fn(&Change) -> Option<f64>| -> ArrayRef {
        Arc::new(format_number(rows.iter().map(|row| get(row.1)), true))
    };
    let kind = rows.iter().map(|row| row.0);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("kind", Arc::new(StringArray::from_iter_values(kind))),
        ("verdict", texts(&rows, |change| Some(change.verdict))),
        ("speedup", numbers(|change| change.speedup)),
        ("change", numbers(|change| change.change)),
        ("low", numbers(|change| change.low)),
        ("high", numbers(|change| change.high)),
        ("p_corrected", numbers(|change| change.p_corrected)),
        ("a_ns", numbers(|change| change.a_ns)),
        ("b_ns", numbers(|change| change.b_ns)),
    ];
    if found.rule == Rule::Runs {
        columns.push(("detectable", numbers(|change| change.detectable)));
        let runs = rows
            .iter()
            .map(|(_, change)| both(change.a_runs, change.b_runs));
        columns.push(("runs", Arc::new(runs.collect::<StringArray>())));
        let days = rows
            .iter()
            .map(|(_, change)| both(change.a_days, change.b_days));
        columns.push(("days", Arc::new(days.collect::<StringArray>())));
        columns.push(("reason", reasons(&rows)));
    }
    if found.is_by_platform {
        let platform = texts(&rows, |change| change.platform.as_deref());
        columns.push(("platform", platform));
    }
    let texts = |get: fn(&Change) -> Option<&str>| -> ArrayRef {
        let texts = rows.iter().map(|row| get(row.1).map(truncate));
        Arc::new(texts.collect::<StringArray>())
    };
    let keys = texts(|change| Some(&change.workload_key));
    columns.push(("workload_key", keys));
    columns.push(("steps", texts(|change| change.steps.as_deref())));
    columns
}

/// Counts of both sides as text: `3, 2`.
fn both(a: Option<usize>, b: Option<usize>) -> Option<String> {
    let (a, b) = a.zip(b)?;
    Some(format!("{a}, {b}"))
}
