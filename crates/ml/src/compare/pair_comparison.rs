//! Result of `measure pair` as a comparison, for the documents of CI systems.

use tsql_dataset::trials::{PairProgram, PairReport};

use super::comparison::{Change, ComparedSide, Comparison, Regression, Summary};

impl Comparison {
    /// Returns the comparison of two builds that were measured in one schedule. `allowed` is the slowdown that is no
    /// regression, as a fraction; at least the minimum change of the pair is allowed.
    ///
    /// A run is one of a complete block. Programs that a side did not time are unclear pairs.
    pub fn from_pair(found: &PairReport, platform: &str, allowed: f64) -> Self {
        let of = |verdicts: &[&str]| -> Vec<Change> {
            let programs = found.programs.iter();
            let programs = programs.filter(|program| verdicts.contains(&program.verdict));
            programs.map(|program| change(program, platform)).collect()
        };
        let count = |verdict: &str| found.count(verdict) as u64;
        let speedup = |change: Option<f64>| change.map(|change| 1.0 / (1.0 + change));
        let pairs = of(&["slower", "faster", "same", "unclear", "missing"]);
        let undecided = found.undecided() as u64;
        Self {
            version: found.version,
            a: side(found, "base", platform),
            b: side(found, "head", platform),
            minimum_change: found.minimum_change,
            is_by_platform: true,
            newly_failing: count("failed"),
            newly_working: count("fixed"),
            failing: count("failing"),
            all: Summary {
                pairs: pairs.len() as u64,
                speedup: speedup(found.change),
                speedup_low: speedup(found.high),
                speedup_high: speedup(found.low),
                faster: count("faster"),
                slower: count("slower"),
                same: count("same"),
                unclear: undecided,
            },
            regressions: of(&["slower"]),
            gains: of(&["faster"]),
            unclear: of(&["unclear", "missing"]),
            undecided,
            pairs,
            failures: of(&["failed"]),
            fixes: of(&["fixed"]),
            regression: Some(Regression {
                allowed: allowed.max(found.minimum_change),
                slower: found.regressions(allowed).count() as u64 - count("failed"),
                is_slower_overall: false,
                newly_failing: count("failed"),
            }),
            ..Self::default()
        }
    }
}

fn side(found: &PairReport, name: &str, platform: &str) -> ComparedSide {
    let runs = found.runs.iter().filter(|run| run.side == name);
    ComparedSide {
        name: name.to_owned(),
        records: runs.map(|run| run.records).sum(),
        platforms: vec![platform.to_owned()],
        ..ComparedSide::default()
    }
}

fn change(program: &PairProgram, platform: &str) -> Change {
    let speedup = |change: Option<f64>| change.map(|change| 1.0 / (1.0 + change));
    // A block has two runs of each side.
    let runs = Some(2 * program.blocks);
    Change {
        platform: Some(platform.to_owned()),
        workload_key: program.workload_key.clone(),
        steps: Some(program.steps.clone()),
        a_ns: program.base_ns,
        b_ns: program.head_ns,
        speedup: speedup(program.change),
        speedup_low: speedup(program.high),
        speedup_high: speedup(program.low),
        change: program.change,
        low: program.low,
        high: program.high,
        p: Some(program.p),
        p_corrected: Some(program.p_corrected),
        detectable: program.detectable,
        a_runs: runs,
        b_runs: runs,
        verdict: match program.verdict {
            "missing" => "unclear",
            verdict => verdict,
        },
        ..Change::default()
    }
}
