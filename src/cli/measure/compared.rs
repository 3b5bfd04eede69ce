//! Records that were measured again, as they are shown.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray};
use tsql_measure::manifest::Manifest;
use tsql_metrics::change::Comparison;

use crate::cli::talk::{counted, talk};
use crate::trials::Item;
use crate::trials::elsewhere::Difference;
use crate::trials::repeat::Again;

/// A record that was measured again.
pub(super) struct Compared<'a> {
    pub(super) again: &'a Again,
    pub(super) item: &'a Item,
    /// What of the machine was different when it was taken.
    pub(super) differs: &'a [Difference],
}

impl Compared<'_> {
    /// It was taken on another machine.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.differs.iter().any(Difference::is_of_machine)
    }

    /// What is said of it, and between what.
    fn verdict(&self) -> String {
        let word = self.again.word();
        match self.differs {
            [] => word.to_owned(),
            _ if self.is_elsewhere() => format!("{word} (other machine)"),
            _ => format!("{word} (other compiler)"),
        }
    }

    /// What differs, in words.
    fn differs(&self) -> String {
        let facts: Vec<&str> = self.differs.iter().map(|found| found.fact).collect();
        facts.join(", ")
    }
}

/// Says which records were taken elsewhere, and where.
pub(super) fn warn(elsewhere: &[Vec<Difference>]) {
    let mut alike: BTreeMap<String, u64> = BTreeMap::new();
    let different = elsewhere.iter().filter(|differs| !differs.is_empty());
    for differs in different {
        let sentences: Vec<String> = differs.iter().map(Difference::sentence).collect();
        *alike.entry(sentences.join("; ")).or_default() += 1;
    }
    for (sentences, records) in &alike {
        talk(&format!(
            "warning: {} not measured as it would be now: {sentences}",
            counted(*records, "record")
        ));
    }
    if !alike.is_empty() {
        talk(
            "hint: their verdicts compare machines or compilers, and not only kernels; --where chooses others",
        );
    }
}

/// What became of each record, as columns; changes are shares.
pub(super) fn columns(rows: &[Compared<'_>]) -> [(&'static str, ArrayRef); 11] {
    let numbers = |of: fn(&Comparison) -> f64| -> ArrayRef {
        let found = rows.iter().map(|row| Some(of(row.again.comparison()?)));
        Arc::new(found.collect::<Float64Array>())
    };
    let texts = |of: &dyn Fn(&Compared<'_>) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    [
        ("verdict", texts(&|row| row.verdict())),
        ("change", numbers(|found| found.change)),
        ("change_low", numbers(|found| found.change_low)),
        ("change_high", numbers(|found| found.change_high)),
        ("least_change", numbers(|found| found.least_change)),
        ("p", numbers(|found| found.p_corrected)),
        ("old_ns", numbers(|found| found.old_median_ns)),
        ("new_ns", numbers(|found| found.new_median_ns)),
        ("workload_key", texts(&|row| row.item.workload_key())),
        (
            "steps",
            texts(&|row| Manifest::config_text(&row.item.config)),
        ),
        ("differs", texts(&|row| row.differs())),
    ]
}

/// The same as lines of JSON.
pub(super) fn say(rows: &[Compared<'_>]) {
    let mut out = std::io::stdout().lock();
    for row in rows {
        let found = row.again.comparison();
        let differs: Vec<String> = row.differs.iter().map(Difference::sentence).collect();
        let line = serde_json::json!({
            "event": "compared",
            "workload_key": row.item.workload_key(),
            "steps": Manifest::config_text(&row.item.config),
            "verdict": row.verdict(),
            "change": found.map(|found| found.change),
            "change_low": found.map(|found| found.change_low),
            "change_high": found.map(|found| found.change_high),
            "least_change": found.map(|found| found.least_change),
            "p": found.map(|found| found.p_corrected),
            "old_ns": found.map(|found| found.old_median_ns),
            "new_ns": found.map(|found| found.new_median_ns),
            "differs": differs,
        });
        let _ = writeln!(out, "{line}");
    }
}
