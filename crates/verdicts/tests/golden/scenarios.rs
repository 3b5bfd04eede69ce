//! Simulated runs: logarithms of the repeats of each run. Both sides are equal.

use tsql_metrics::median::median;
use tsql_verdicts::floor::{Floor, fit_floor};

use crate::random::Rng;

/// Repeats of a run.
const REPEATS: usize = 10;

pub(crate) const SCENARIOS: [&str; 9] = [
    "independent",
    "runs",
    "heavy_tails",
    "two_clocks",
    "drift",
    "autocorrelated",
    "outliers",
    "days",
    "correlated_repeats",
];

/// Returns the levels of the runs of a schedule such as "AAABBB". Draws come in this order: the scenario's, then run by
/// run.
pub(crate) fn levels(name: &str, order: &str, rng: &mut Rng) -> Vec<f64> {
    let runs = order.len();
    let mut repeat = 0.002;
    let base: Vec<f64> = match name {
        "independent" => {
            repeat = 0.01;
            vec![0.0; runs]
        }
        "runs" => {
            repeat = 0.003;
            (0..runs).map(|_| 0.01 * rng.normal()).collect()
        }
        "heavy_tails" => (0..runs).map(|_| 0.005 * rng.t3()).collect(),
        "two_clocks" => (0..runs).map(|_| jump(rng, 0.3, 1.06)).collect(),
        "drift" => (0..runs)
            .map(|place| 0.004 * f64::from(u32::try_from(place).unwrap()) + 0.003 * rng.normal())
            .collect(),
        "autocorrelated" => rng.autoregressive(runs, 0.8, 0.01),
        "outliers" => {
            repeat = 0.003;
            (0..runs).map(|_| jump(rng, 0.05, 1.08)).collect()
        }
        "days" => {
            let (a, b) = (0.015 * rng.normal(), 0.015 * rng.normal());
            let day = |side| if side == 'A' { a } else { b };
            order
                .chars()
                .map(|side| day(side) + 0.003 * rng.normal())
                .collect()
        }
        "correlated_repeats" => vec![0.0; runs],
        other => panic!("{other}"),
    };
    let run = |base: f64| {
        let mut noise = if name == "correlated_repeats" {
            rng.autoregressive(REPEATS, 0.9, 0.01)
        } else {
            (0..REPEATS).map(|_| repeat * rng.normal()).collect()
        };
        if name == "outliers" {
            for x in &mut noise {
                if rng.uniform() < 0.1 {
                    *x += (0.5 * rng.uniform()).ln_1p();
                }
            }
        }
        let repeats: Vec<f64> = noise.into_iter().map(|x| base + x).collect();
        median(&repeats).unwrap().value
    };
    base.into_iter().map(run).collect()
}

/// A higher level with a probability, and normal noise of 0.3 %.
fn jump(rng: &mut Rng, probability: f64, factor: f64) -> f64 {
    let level = if rng.uniform() < probability {
        factor.ln()
    } else {
        0.0
    };
    level + 0.003 * rng.normal()
}

/// Splits levels by side.
pub(crate) fn sides(order: &str, levels: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let of = |wanted| {
        let runs = order.chars().zip(levels);
        runs.filter(|(side, _)| *side == wanted)
            .map(|(_, level)| *level)
            .collect()
    };
    (of('A'), of('B'))
}

/// Returns the floor of 200 pairs of runs in a schedule of two.
pub(crate) fn calibrated(name: &str, seed: u64, order: &str) -> Floor {
    let mut rng = Rng::new(seed);
    let difference = |rng: &mut Rng| {
        let found = levels(name, order, rng);
        (found[1] - found[0]) / 2_f64.sqrt()
    };
    let differences: Vec<f64> = (0..200).map(|_| difference(&mut rng)).collect();
    fit_floor(&differences).unwrap()
}
