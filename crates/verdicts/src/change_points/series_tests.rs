//! Series with known change points, of the published tests of Otava (`shared/data/series`).
//!
//! Otava's lists need two slips of its code: the variance with n instead of n - 1, and the wrong neighbours after a
//! merge. Both are rules of their own here, so that the rest of the algorithm is tested against the published lists.

use std::path::Path;

use serde_json::Value;

use super::divergence::DivergenceBuffers;
use super::segment_test::{SegmentRules, Unbiased, segment_p};
use super::*;

/// Otava's rules.
struct Otava;

impl SegmentRules for Otava {
    fn variance([left, right]: [f64; 2], [n, m]: [f64; 2]) -> f64 {
        ((n - 1.0) * left / n + (m - 1.0) * right / m) / (n + m - 2.0)
    }

    fn changed_neighbours(dropped: usize) -> [Option<usize>; 2] {
        [Some(dropped), Some(dropped + 1)]
    }
}

/// Returns a file of `shared`; `None` with a message if it is absent and not required.
#[expect(clippy::print_stderr, reason = "a skipped test is reported")]
fn shared(name: &str) -> Option<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("TSQL_TEST_SHARED").map_or(folder, Into::into);
    let Ok(text) = std::fs::read_to_string(folder.join(name)) else {
        let required = std::env::var_os("TSQL_REQUIRE_SHARED").is_some();
        assert!(!required, "no {name} in {}", folder.display());
        eprintln!("skipped: no {name} in {}", folder.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap().iter();
    list.map(|number| number.as_f64().unwrap()).collect()
}

fn indices(list: &Value) -> Vec<usize> {
    let list = list.as_array().unwrap().iter();
    list.map(|number| usize::try_from(number.as_u64().unwrap()).unwrap())
        .collect()
}

fn options(run: &Value, min_segment: usize) -> ChangePointOptions {
    ChangePointOptions {
        window: usize::try_from(run["window"].as_u64().unwrap()).unwrap(),
        p: run["p"].as_f64().unwrap(),
        minimum_change: run["min_magnitude"].as_f64().unwrap(),
        min_segment,
        scale: Scale::Linear,
    }
}

fn places(points: &[ChangePoint]) -> Vec<usize> {
    points.iter().map(|point| point.index).collect()
}

#[test]
fn the_published_lists_are_reproduced() {
    let (Some(data), Some(golden)) = (
        shared("data/series/change_points.json"),
        shared("golden/regressions.json"),
    ) else {
        return;
    };
    let mut checked = 0;
    for run in golden["change_points"]["public"].as_array().unwrap() {
        let all = data["series"].as_array().unwrap();
        let series = all.iter().find(|one| one["name"] == run["series"]).unwrap();
        let values = numbers(&series["values"]);
        checked += 1;
        if run["method"] == "t_test" {
            let p = run["p"].as_f64().unwrap();
            let found = dividing::divide::<Otava>(&values, p, 1, &mut DivergenceBuffers::default());
            assert_eq!(found, indices(&run["otava"]), "{}", run["series"]);
            continue;
        }
        let found = places(&change_points_with::<Otava>(&values, &options(run, 1)));
        assert_eq!(found, indices(&run["otava"]), "{run}");
        // The list of the source itself, or where appending found more, what it finds at once.
        if !run["expected"].is_null() {
            let at_once = &run["from_scratch"];
            let expected = if at_once.is_null() {
                &run["expected"]
            } else {
                at_once
            };
            assert_eq!(found, indices(expected), "{run}");
        }
        let weak = dividing::weak_points::<Otava>(&values, &options(run, 1)).len();
        assert_eq!(Some(weak as u64), run["weak_otava"].as_u64(), "{run}");
        let corrected = places(&change_points(&values, &options(run, 1)));
        assert_eq!(corrected, indices(&run["corrected"]), "{run}");
        let corrected = places(&change_points(&values, &options(run, 3)));
        assert_eq!(corrected, indices(&run["corrected_segments_of_3"]), "{run}");
    }
    assert!(checked >= 10, "{checked}");
    let expected = numbers(&golden["functions"]["t_test_biased_and_not"]);
    let (left, right) = ([1.0, 1.1, 0.9], [1.3, 1.2, 1.4, 1.3]);
    assert!((segment_p::<Otava>(&left, &right) - expected[0]).abs() < 1e-6);
    assert!((segment_p::<Unbiased>(&left, &right) - expected[1]).abs() < 1e-6);
}

#[test]
fn a_step_is_found_with_its_levels() {
    let series: Vec<f64> = (0..60_u32)
        .map(|index| {
            let level = if index < 40 { 100.0 } else { 104.0 };
            level + 0.5 * f64::from(index * 7 % 5) - 1.0
        })
        .collect();
    for (scale, values) in [
        (Scale::Linear, series.clone()),
        (
            Scale::Logarithmic,
            series.iter().map(|value| value.ln()).collect(),
        ),
    ] {
        let options = ChangePointOptions {
            scale,
            ..ChangePointOptions::default()
        };
        let found = change_points(&values, &options);
        assert_eq!(places(&found), [40]);
        assert!(
            (found[0].change - 0.04).abs() < 1e-3 && found[0].p < 1e-6,
            "{found:?}"
        );
    }
}

#[test]
fn short_and_constant_series_have_no_points() {
    let options = ChangePointOptions::default();
    for series in [vec![], vec![1.0], vec![1.0, 5.0], vec![2.0; 200]] {
        assert_eq!(change_points(&series, &options), []);
    }
    // A spike is no level.
    let mut spike = vec![100.0; 80];
    spike[40] = 150.0;
    assert_eq!(change_points(&spike, &options), []);
    // Without scatter every difference is significant, and the minimum change decides.
    let step = [vec![100.0; 30], vec![101.0; 30]].concat();
    assert_eq!(change_points(&step, &options), []);
    let step = [vec![100.0; 30], vec![103.0; 30]].concat();
    assert_eq!(places(&change_points(&step, &options)), [30]);
    let zero = [vec![0.0; 30], vec![3.0; 30]].concat();
    // A mean of 0 has no ratio.
    let found = change_points(&zero, &options);
    assert!(
        places(&found) == [30] && found[0].change.is_infinite(),
        "{found:?}"
    );
}
