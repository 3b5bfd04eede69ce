//! Table of records that were measured again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray};
use tsql_dataset::trials::{Difference, RepeatedRecord};

use crate::stderr::{count_noun, print_message};

/// Returns the verdict about a record, and whether the machine or the compiler differs.
fn verdict(record: &RepeatedRecord) -> String {
    let word = record.verdict;
    match record.machine_differences.as_slice() {
        [] => word.to_owned(),
        _ if record.is_from_other_machine() => format!("{word} (other machine)"),
        _ => format!("{word} (other compiler)"),
    }
}

/// Returns the names of the facts that differ.
fn differing_facts(record: &RepeatedRecord) -> String {
    let facts: Vec<&str> = record
        .machine_differences
        .iter()
        .map(|found| found.fact)
        .collect();
    facts.join(", ")
}

/// Warns about records that were measured under other conditions, and lists the differences.
pub(super) fn warn(elsewhere: &[Vec<Difference>]) {
    let mut alike: BTreeMap<String, u64> = BTreeMap::new();
    let different = elsewhere.iter().filter(|differs| !differs.is_empty());
    for differs in different {
        let sentences: Vec<String> = differs.iter().map(Difference::describe).collect();
        *alike.entry(sentences.join("; ")).or_default() += 1;
    }
    for (sentences, records) in &alike {
        print_message(&format!(
            "warning: {} measured under other conditions than now: {sentences}",
            count_noun(*records, "record")
        ));
    }
    if !alike.is_empty() {
        print_message(
            "hint: their verdicts compare machines or compilers, not only kernels; --where \
             selects other records",
        );
    }
}

/// Returns the verdict and the timings of each record as columns; changes are fractions.
pub(super) fn columns(records: &[RepeatedRecord]) -> [(&'static str, ArrayRef); 11] {
    let numbers = |get: fn(&RepeatedRecord) -> Option<f64>| -> ArrayRef {
        Arc::new(records.iter().map(get).collect::<Float64Array>())
    };
    let texts = |get: fn(&RepeatedRecord) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(records.iter().map(get)))
    };
    [
        ("verdict", texts(verdict)),
        ("change", numbers(|record| record.change)),
        ("change_low", numbers(|record| record.change_low)),
        ("change_high", numbers(|record| record.change_high)),
        ("minimum_change", numbers(|record| record.minimum_change)),
        ("p", numbers(|record| record.p)),
        ("old_ns", numbers(|record| record.old_ns)),
        ("new_ns", numbers(|record| record.new_ns)),
        ("workload_key", texts(|record| record.workload_key.clone())),
        ("steps", texts(|record| record.steps.clone())),
        ("machine_differences", texts(differing_facts)),
    ]
}

/// Prints the same as JSON lines.
pub(super) fn print_json(records: &[RepeatedRecord]) {
    let mut out = std::io::stdout().lock();
    for record in records {
        let differs: Vec<String> = record
            .machine_differences
            .iter()
            .map(Difference::describe)
            .collect();
        let line = serde_json::json!({
            "event": "compared",
            "workload_key": record.workload_key,
            "steps": record.steps,
            "verdict": verdict(record),
            "change": record.change,
            "change_low": record.change_low,
            "change_high": record.change_high,
            "minimum_change": record.minimum_change,
            "p": record.p,
            "old_ns": record.old_ns,
            "new_ns": record.new_ns,
            "machine_differences": differs,
        });
        let _ = writeln!(out, "{line}");
    }
}
