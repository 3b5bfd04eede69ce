//! Times of large inputs: `cargo test --release -p tensorsql-verdicts --test golden -- --ignored --nocapture`.

use std::time::Instant;

use tsql_metrics::change::Verdict;
use tsql_metrics::median::median;
use tsql_verdicts::change_points::{ChangePointOptions, change_points};
use tsql_verdicts::floor_classes::{DayRelation, FloorPairs};
use tsql_verdicts::run_test::detectable_change;
use tsql_verdicts::verdict::{Run, SideRuns, decide, test_sides};

use crate::random::Rng;
use crate::series::series;

#[test]
#[ignore = "full tier"]
fn ten_thousand_pairs_take_less_than_two_seconds() {
    let mut rng = Rng::new(1);
    let mut pairs = FloorPairs::default();
    for _ in 0..20_000 {
        let level = 7.0 + 9.0 * rng.uniform();
        let other = level + 0.01 * rng.normal();
        pairs.add("k80", [level, other], DayRelation::Same);
    }
    // Five runs of 50 repeats on each side.
    let repeats: Vec<[Vec<Vec<f64>>; 2]> = (0..10_000)
        .map(|_| {
            let ns = (7.0 + 9.0 * rng.uniform()).exp();
            [0, 1].map(|_| {
                let run =
                    |rng: &mut Rng| (0..50).map(|_| ns * (1.0 + 0.01 * rng.normal())).collect();
                (0..5).map(|_| run(&mut rng)).collect()
            })
        })
        .collect();
    let start = Instant::now();
    let floors = pairs.fit();
    let fitted = start.elapsed();
    let mut called = 0;
    let tests: Vec<_> = repeats
        .iter()
        .map(|sides| {
            let [a, b] = [0, 1].map(|side| {
                let runs = sides[side].iter().map(|repeats| Run {
                    level: median(repeats).unwrap().value.ln(),
                    day: 1,
                });
                SideRuns {
                    runs: runs.collect(),
                    spoiled: 0,
                }
            });
            let floor = floors
                .find("k80", a.runs[0].level)
                .map(|index| &floors.as_slice()[index]);
            test_sides(&a, &b, floor, true)
        })
        .collect();
    let corrected = tests
        .iter()
        .map(|pair| pair.test.map_or(1.0, |test| test.p))
        .collect::<tsql_metrics::change::PValues>()
        .benjamini_hochberg();
    for pair in &tests {
        let test = pair.test.unwrap();
        let (verdict, _) = decide(pair.test, corrected.get(test.p), 0.02);
        assert!(detectable_change(&test) > 0.0 && test.interval().0 < test.change);
        called += usize::from(matches!(verdict, Verdict::Faster | Verdict::Slower));
    }
    let elapsed = start.elapsed();
    println!(
        "10,000 pairs of 2 x 5 x 50 repeats: {elapsed:?} (floors of 20,000 pairs: {fitted:?}), {called} called"
    );
    assert!(elapsed.as_secs_f64() < 2.0 || cfg!(debug_assertions));
}

#[test]
#[ignore = "full tier"]
fn two_thousand_series_take_less_than_five_seconds() {
    let mut rng = Rng::new(2);
    for name in ["independent", "step", "autocorrelated", "slope"] {
        let all: Vec<Vec<f64>> = (0..2000).map(|_| series(name, 1000, &mut rng)).collect();
        let start = Instant::now();
        let options = ChangePointOptions::default();
        let points: usize = all
            .iter()
            .map(|values| change_points(values, &options).len())
            .sum();
        let elapsed = start.elapsed();
        println!("2,000 series of 1,000 values, {name}: {elapsed:?}, {points} points");
        assert!(elapsed.as_secs_f64() < 5.0 || cfg!(debug_assertions));
    }
}
