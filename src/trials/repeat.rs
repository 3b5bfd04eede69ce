//! Chosen records measured again, and what has changed since.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _};
use arrow::datatypes::Float64Type;
use tsql_metrics::change::{Comparison, Pair, SPOILING, Verdict, compare};

use super::loaded::{Item, Loaded};
use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;
use crate::store::Store;

/// A record that is measured again.
pub(crate) struct Chosen {
    pub(crate) item: Item,
    pub(crate) old: Timing,
    /// The machine that it was taken on, as its environment says.
    pub(crate) machine: Option<String>,
}

/// A timing, as far as it is compared.
pub(crate) struct Timing {
    /// The repeats that count; none where it failed.
    pub(crate) repeats_ns: Vec<f64>,
    /// It proves nothing.
    pub(crate) spoiled: bool,
}

impl Timing {
    pub(crate) fn new(repeats_ns: Vec<f64>, flags: &[String]) -> Self {
        let spoils = |flag: &String| SPOILING.contains(&flag.as_str());
        Self {
            repeats_ns,
            spoiled: flags.iter().any(spoils),
        }
    }
}

/// The records that `predicate` (SQL over `records`) selects, each program's configuration once, with
/// its newest record; also how many there are that cannot be built again.
///
/// # Errors
/// [`Error::Query`] for a predicate that is no SQL.
pub(crate) async fn choose(
    store: &Store,
    predicate: &str,
    limit: u64,
) -> Result<(Vec<Chosen>, u64)> {
    let sql = format!(
        "SELECT g.workload_key, c.steps, r.repeats_ns, r.flags, e.program, e.machine \
         FROM (SELECT * FROM records WHERE {predicate}) AS r \
         JOIN environments AS e ON e.environment_id = r.environment_id \
         JOIN graphs AS g ON g.graph_id = r.graph_id \
         JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id \
         ORDER BY r.measured_at DESC, r.source_id, r.line DESC"
    );
    let context = store.session().await?;
    let mut programs: HashMap<String, Arc<Loaded>> = HashMap::new();
    let (mut chosen, mut seen, mut foreign) = (Vec::new(), HashSet::new(), 0);
    for batch in collect(&context, &sql).await? {
        let keys = column::text(&batch, "workload_key")?;
        let steps = column::text(&batch, "steps")?;
        let repeats = column::lists(&batch, "repeats_ns")?;
        let flags = column::lists(&batch, "flags")?;
        let machines = column::text(&batch, "machine")?;
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
                let loaded = Arc::new(Loaded::of_record(program)?);
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
            chosen.push(Chosen {
                item: Item {
                    loaded: Arc::clone(loaded),
                    params: params(keys.value(row))?,
                    config: numbers(steps.value(row))?,
                },
                old: Timing::new(repeats_ns, &flags),
                machine: column::text_at(machines, row).map(str::to_owned),
            });
        }
    }
    Ok((chosen, foreign))
}

/// The sizes in a workload key: `["matmul_f32", {"M": 512}]`.
fn params(workload_key: &str) -> Result<BTreeMap<String, i64>> {
    let key: Vec<serde_json::Value> = serde_json::from_str(workload_key).unwrap_or_default();
    let params = key.into_iter().nth(1).map(serde_json::from_value);
    params.and_then(std::result::Result::ok).ok_or_else(|| {
        let reason = format!("`{workload_key}` names no sizes, but its record has a program");
        Error::damaged("graphs", reason)
    })
}

fn numbers(steps: &str) -> Result<BTreeMap<String, i64>> {
    serde_json::from_str(steps).map_err(|_| {
        let reason = format!("`{steps}` is no configuration, but its record has a program");
        Error::damaged("configurations", reason)
    })
}

/// What became of a record that was measured again.
pub(crate) enum Again {
    Compared(Comparison),
    /// It failed then, now, or both times: whether it did.
    Failed {
        before: bool,
        now: bool,
    },
}

impl Again {
    /// The verdict; `failed` where it fails now and did not before, `mended` the other way round.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Compared(found) => found.verdict.word(),
            Self::Failed { before, now } if before == now => Verdict::Same.word(),
            Self::Failed { now: true, .. } => "failed",
            Self::Failed { now: false, .. } => "mended",
        }
    }

    pub(crate) fn comparison(&self) -> Option<&Comparison> {
        match self {
            Self::Compared(found) => Some(found),
            Self::Failed { .. } => None,
        }
    }
}

/// Compares old and new timings, in their order; `minimal_change` is a share.
pub(crate) fn compared(times: &[(Timing, Timing)], minimal_change: f64) -> Vec<Again> {
    let pairs: Vec<Option<Pair>> = times
        .iter()
        .map(|(old, new)| {
            let pair = Pair::new(&old.repeats_ns, &new.repeats_ns)?;
            Some(pair.with_spoiled(old.spoiled || new.spoiled))
        })
        .collect();
    let measured: Vec<Pair> = pairs.iter().flatten().cloned().collect();
    let mut comparisons = compare(&measured, minimal_change).into_iter();
    let again = pairs.iter().zip(times).map(|(pair, (old, new))| {
        let comparison = pair.as_ref().and_then(|_| comparisons.next());
        comparison.map_or(
            Again::Failed {
                before: old.repeats_ns.is_empty(),
                now: new.repeats_ns.is_empty(),
            },
            Again::Compared,
        )
    });
    again.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(length: u32, from_ns: f64, flags: &str) -> Timing {
        let repeats_ns = (0..length).map(|place| from_ns + f64::from(place) / 100.0);
        let flags: Vec<String> = flags.split(',').map(str::to_owned).collect();
        Timing::new(repeats_ns.collect(), &flags)
    }

    #[test]
    fn flags_and_failures_decide_what_is_said() {
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
        let again = compared(&times, 0.02);
        let words: Vec<&str> = again.iter().map(Again::word).collect();
        let expected = ["slower", "unclear", "unclear", "failed", "mended", "same"];
        assert_eq!(words, expected);
    }
}
