//! Selection of records to measure again, and comparison of old and new timings.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _};
use arrow::datatypes::Float64Type;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_metrics::change::{PairComparison, RepeatPair, SPOILING_FLAGS, Verdict, compare};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

use super::loaded_program::{LoadedProgram, TrialSpec};

/// A record to measure again.
pub(crate) struct SelectedRecord {
    pub(crate) item: TrialSpec,
    pub(crate) platform: String,
    pub(crate) old: StoredTiming,
    /// Machine of the record, from its environment.
    pub(crate) machine: Option<String>,
}

/// A timing to compare.
pub(crate) struct StoredTiming {
    /// Times of the repeats that count; empty for a failure.
    pub(crate) repeats_ns: Vec<f64>,
    /// Whether its flags make it unsuitable for a comparison.
    pub(crate) spoiled: bool,
}

impl StoredTiming {
    pub(crate) fn new(repeats_ns: Vec<f64>, flags: &[String]) -> Self {
        let spoils = |flag: &String| SPOILING_FLAGS.contains(&flag.as_str());
        Self {
            repeats_ns,
            spoiled: flags.iter().any(spoils),
        }
    }
}

/// Selects records by `predicate` (SQL over `records`), with the newest one per configuration of a program.
/// Also returns the number of records that cannot be built.
///
/// # Errors
/// [`Error::Query`] if the predicate is invalid.
pub(crate) async fn select_records(
    store: &Store,
    predicate: &str,
    limit: u64,
) -> Result<(Vec<SelectedRecord>, u64)> {
    let sql = format!(
        "SELECT g.workload_key, c.steps, r.platform, r.repeats_ns, r.flags, e.program, e.machine \
         FROM (SELECT * FROM records WHERE {predicate}) AS r \
         JOIN environments AS e ON e.environment_id = r.environment_id \
         JOIN graphs AS g ON g.graph_id = r.graph_id \
         JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id \
         ORDER BY r.measured_at DESC, r.source_id, r.line DESC"
    );
    let context = open_session(store).await?;
    let mut programs: HashMap<String, Arc<LoadedProgram>> = HashMap::new();
    let (mut chosen, mut seen, mut foreign) = (Vec::new(), HashSet::new(), 0);
    for batch in collect(&context, &sql).await? {
        let keys = column::text(&batch, "workload_key")?;
        let steps = column::text(&batch, "steps")?;
        let repeats = column::lists(&batch, "repeats_ns")?;
        let flags = column::lists(&batch, "flags")?;
        let machines = column::text(&batch, "machine")?;
        let platforms = column::text(&batch, "platform")?;
        let kept = column::text(&batch, "program")?;
        for row in 0..batch.num_rows() {
            let Some(program) = column::text_at(kept, row) else {
                foreign += 1;
                continue;
            };
            let key = (
                program.to_owned(),
                keys.value(row).to_owned(),
                steps.value(row).to_owned(),
            );
            if !seen.insert(key) || chosen.len() as u64 >= limit {
                continue;
            }
            if !programs.contains_key(program) {
                let loaded = Arc::new(LoadedProgram::from_record(program)?);
                programs.insert(program.to_owned(), loaded);
            }
            let Some(loaded) = programs.get(program) else {
                continue;
            };
            let valid = repeats.is_valid(row).then(|| repeats.value(row));
            let repeats_ns = valid.map_or_else(Vec::new, |list| {
                list.as_primitive::<Float64Type>().values().to_vec()
            });
            let flags = column::texts_at(flags, row).unwrap_or_default();
            chosen.push(SelectedRecord {
                item: TrialSpec {
                    loaded: Arc::clone(loaded),
                    params: parse_params(keys.value(row))?,
                    config: parse_steps(steps.value(row))?,
                },
                platform: platforms.value(row).to_owned(),
                old: StoredTiming::new(repeats_ns, &flags),
                machine: column::text_at(machines, row).map(str::to_owned),
            });
        }
    }
    Ok((chosen, foreign))
}

/// Sizes in a workload key: `["matmul_f32", {"M": 512}]`.
fn parse_params(workload_key: &str) -> Result<BTreeMap<String, i64>> {
    let key: Vec<serde_json::Value> = serde_json::from_str(workload_key).unwrap_or_default();
    let params = key.into_iter().nth(1).map(serde_json::from_value);
    params.and_then(std::result::Result::ok).ok_or_else(|| {
        let reason = format!("`{workload_key}` has no sizes, but its record has a program");
        Error::damaged("graphs", reason)
    })
}

fn parse_steps(steps: &str) -> Result<BTreeMap<String, i64>> {
    serde_json::from_str(steps).map_err(|_| {
        let reason = format!("`{steps}` is not a configuration, but its record has a program");
        Error::damaged("configurations", reason)
    })
}

/// Result of measuring a record again.
pub(crate) enum RepeatOutcome {
    Compared(PairComparison),
    /// At least one of the measurements failed: which of them.
    Failed {
        before: bool,
        now: bool,
    },
}

impl RepeatOutcome {
    /// Verdict; `failed` if only the new measurement failed, `fixed` if only the old one did.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Compared(found) => found.verdict.word(),
            Self::Failed { before, now } if before == now => Verdict::Same.word(),
            Self::Failed { now: true, .. } => "failed",
            Self::Failed { now: false, .. } => "fixed",
        }
    }

    pub(crate) fn comparison(&self) -> Option<&PairComparison> {
        match self {
            Self::Compared(found) => Some(found),
            Self::Failed { .. } => None,
        }
    }
}

/// Compares pairs of old and new timings, in order. `minimum_change` is a fraction.
pub(crate) fn compare_timings(
    times: &[(StoredTiming, StoredTiming)],
    minimum_change: f64,
) -> Vec<RepeatOutcome> {
    let pairs: Vec<Option<RepeatPair>> = times
        .iter()
        .map(|(old, new)| {
            let pair = RepeatPair::new(&old.repeats_ns, &new.repeats_ns)?;
            Some(pair.with_spoiled(old.spoiled || new.spoiled))
        })
        .collect();
    let measured: Vec<RepeatPair> = pairs.iter().flatten().cloned().collect();
    let mut comparisons = compare(&measured, minimum_change).into_iter();
    let again = pairs.iter().zip(times).map(|(pair, (old, new))| {
        let comparison = pair.as_ref().and_then(|_| comparisons.next());
        comparison.map_or(
            RepeatOutcome::Failed {
                before: old.repeats_ns.is_empty(),
                now: new.repeats_ns.is_empty(),
            },
            RepeatOutcome::Compared,
        )
    });
    again.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(length: u32, from_ns: f64, flags: &str) -> StoredTiming {
        let repeats_ns = (0..length).map(|place| from_ns + f64::from(place) / 100.0);
        let flags: Vec<String> = flags.split(',').map(str::to_owned).collect();
        StoredTiming::new(repeats_ns.collect(), &flags)
    }

    #[test]
    fn flags_and_failures_decide_the_verdict() {
        let fine = || timing(50, 100.0, "unsteady,stolen");
        let slow = |flags| timing(50, 150.0, flags);
        let failed = || timing(0, 0.0, "");
        let times = [
            (fine(), slow("")),
            (fine(), slow("unsteady,not_converged")),
            (slow("busy_machine"), fine()),
            (fine(), failed()),
            (failed(), fine()),
            (failed(), failed()),
        ];
        let again = compare_timings(&times, 0.02);
        let words: Vec<&str> = again.iter().map(RepeatOutcome::as_str).collect();
        let expected = ["slower", "unclear", "unclear", "failed", "fixed", "same"];
        assert_eq!(words, expected);
    }
}
