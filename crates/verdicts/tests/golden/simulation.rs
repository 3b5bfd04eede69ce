//! Simulated runs: sides, measuring until decided, and blocks.

use tsql_metrics::change::Verdict;
use tsql_verdicts::blocks::{BLOCK_RUNS, BlockSide, contrast_test, contrasts, schedule};
use tsql_verdicts::run_test::{UnsharedDays, run_test};
use tsql_verdicts::sequential::measure_until_decided;
use tsql_verdicts::verdict::verdicts;

use crate::random::Rng;
use crate::scenarios::{SCENARIOS, calibrated, levels, sides};
use crate::shared::{Counts, check, close, count, golden};

#[test]
fn sides_of_one_three_and_five_runs_are_judged() {
    let Some(golden) = golden() else { return };
    for (number, name) in (0_u64..).zip(SCENARIOS) {
        let is_days = name == "days";
        let floor = calibrated(name, 100 + number, if is_days { "AA" } else { "AB" });
        let days = is_days.then(|| {
            let across = calibrated(name, 200 + number, "AB");
            let variance = across.spread.powi(2) - floor.spread.powi(2);
            UnsharedDays {
                day_sigma: variance.max(0.0).sqrt(),
                days: [1, 1],
            }
        });
        let expected = &golden["simulation"][name]["floor"];
        close(floor.sigma, &expected["sigma"]);
        close(floor.spread, &expected["spread"]);
        for runs in [1, 3, 5] {
            let order = "A".repeat(runs) + &"B".repeat(runs);
            let mut rng = Rng::new(1000 * (number + 1) + runs as u64);
            let all: Vec<_> = (0..300)
                .map(|_| sides(&order, &levels(name, &order, &mut rng)))
                .collect();
            for (word, factor) in [("1", 1.0), ("1.03", 1.03)] {
                let tests: Vec<_> = all
                    .iter()
                    .map(|(a, b)| {
                        let b: Vec<f64> = b.iter().map(|level| level + f64::ln(factor)).collect();
                        run_test(a, &b, Some(&floor), days)
                    })
                    .collect();
                let counts = count(verdicts(&tests, 0.02));
                check(
                    &golden,
                    &format!("simulation/{name}/runs_{runs}/floor/{word}"),
                    &counts,
                );
            }
        }
    }
}

#[test]
fn looks_share_the_error_rate() {
    let Some(golden) = golden() else { return };
    for (number, name) in (0..).zip(["runs", "heavy_tails", "two_clocks"]) {
        let floor = calibrated(name, 300 + number, "AB");
        let order = "AB".repeat(8);
        let mut rng = Rng::new(5000 + number);
        let all: Vec<_> = (0..400)
            .map(|_| sides(&order, &levels(name, &order, &mut rng)))
            .collect();
        for (word, factor) in [("1", 1.0), ("1.01", 1.01), ("1.03", 1.03), ("1.05", 1.05)] {
            let mut runs = 0;
            let found: Vec<Verdict> = all
                .iter()
                .map(|(a, b)| {
                    let b: Vec<f64> = b.iter().map(|level| level + f64::ln(factor)).collect();
                    let (verdict, used) = measure_until_decided(a, &b, Some(&floor), 0.02);
                    runs += used;
                    verdict
                })
                .collect();
            let path = format!("sequential/{name}/alpha_spent/{word}");
            check(&golden, &path, &count(found));
            let expected = &golden["sequential"][name]["alpha_spent"][word]["mean_runs_per_side"];
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let mean = runs as f64 / 400.0;
            assert!(
                (mean - expected.as_f64().unwrap()).abs() < 0.02,
                "{path}: {mean}"
            );
        }
    }
}

#[test]
fn blocks_cancel_drift() {
    let Some(golden) = golden() else { return };
    let names = ["drift", "autocorrelated", "runs", "two_clocks"];
    let turned: String = schedule(4)
        .into_iter()
        .map(|side| if side == BlockSide::A { 'A' } else { 'B' })
        .collect();
    assert_eq!(turned, "ABBABAABABBABAAB");
    let plain = "ABBA".repeat(4);
    for (number, name) in (0..).zip(names) {
        for (place, kind, order) in [(2, "abba", &plain), (3, "abba_baab", &turned)] {
            let mut rng = Rng::new(7000 + 10 * number + place);
            let all: Vec<_> = (0..400).map(|_| levels(name, order, &mut rng)).collect();
            for (word, factor) in [("1", 1.0_f64), ("1.03", 1.03)] {
                let mut counts: Counts = [("significant", 0), ("changes", 0)].into();
                for levels in &all {
                    let runs: Vec<(BlockSide, f64)> = order
                        .chars()
                        .zip(levels)
                        .map(|(side, level)| match side {
                            'A' => (BlockSide::A, *level),
                            _ => (BlockSide::B, level + factor.ln()),
                        })
                        .collect();
                    let test = contrast_test(&contrasts(&runs, BLOCK_RUNS), None).unwrap();
                    let is_significant = test.p < 0.05;
                    *counts.get_mut("significant").unwrap() += i64::from(is_significant);
                    *counts.get_mut("changes").unwrap() +=
                        i64::from(is_significant && test.change.abs() >= 1.02_f64.ln());
                }
                check(&golden, &format!("paired/{name}/{kind}/{word}"), &counts);
            }
        }
    }
}
