//! Records that were measured again, as they are shown.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray};

use crate::cli::stderr::{count_noun, print_message};
use crate::trials::{Difference, RepeatedRecord};

/// What is said of a record, and between what.
fn verdict(record: &RepeatedRecord) -> String {
    let word = record.verdict;
    match record.differs.as_slice() {
        [] => word.to_owned(),
        _ if record.is_from_other_machine() => format!("{word} (other machine)"),
        _ => format!("{word} (other compiler)"),
    }
}

/// What differs, in words.
fn differs(record: &RepeatedRecord) -> String {
    let facts: Vec<&str> = record.differs.iter().map(|found| found.fact).collect();
    facts.join(", ")
}

/// Says which records were taken elsewhere, and where.
pub(super) fn warn(elsewhere: &[Vec<Difference>]) {
    let mut alike: BTreeMap<String, u64> = BTreeMap::new();
    let different = elsewhere.iter().filter(|differs| !differs.is_empty());
    for differs in different {
        let sentences: Vec<String> = differs.iter().map(Difference::describe).collect();
        *alike.entry(sentences.join("; ")).or_default() += 1;
    }
    for (sentences, records) in &alike {
        print_message(&format!(
            "warning: {} not measured as it would be now: {sentences}",
            count_noun(*records, "record")
        ));
    }
    if !alike.is_empty() {
        print_message(
            "hint: their verdicts compare machines or compilers, and not only kernels; --where chooses others",
        );
    }
}

/// What became of each record, as columns; changes are shares.
pub(super) fn columns(records: &[RepeatedRecord]) -> [(&'static str, ArrayRef); 11] {
    let numbers = |of: fn(&RepeatedRecord) -> Option<f64>| -> ArrayRef {
        Arc::new(records.iter().map(of).collect::<Float64Array>())
    };
    let texts = |of: fn(&RepeatedRecord) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(records.iter().map(of)))
    };
    [
        ("verdict", texts(verdict)),
        ("change", numbers(|record| record.change)),
        ("change_low", numbers(|record| record.change_low)),
        ("change_high", numbers(|record| record.change_high)),
        ("least_change", numbers(|record| record.least_change)),
        ("p", numbers(|record| record.p)),
        ("old_ns", numbers(|record| record.old_ns)),
        ("new_ns", numbers(|record| record.new_ns)),
        ("workload_key", texts(|record| record.workload_key.clone())),
        ("steps", texts(|record| record.steps.clone())),
        ("differs", texts(differs)),
    ]
}

/// The same as lines of JSON.
pub(super) fn say(records: &[RepeatedRecord]) {
    let mut out = std::io::stdout().lock();
    for record in records {
        let differs: Vec<String> = record.differs.iter().map(Difference::describe).collect();
        let line = serde_json::json!({
            "event": "compared",
            "workload_key": record.workload_key,
            "steps": record.steps,
            "verdict": verdict(record),
            "change": record.change,
            "change_low": record.change_low,
            "change_high": record.change_high,
            "least_change": record.least_change,
            "p": record.p,
            "old_ns": record.old_ns,
            "new_ns": record.new_ns,
            "differs": differs,
        });
        let _ = writeln!(out, "{line}");
    }
}
