//! Small inputs with the results of each function.

use serde_json::Value;
use tsql_metrics::change::{PValues, RepeatPair, compare};
use tsql_metrics::student::{quantile, two_sided_p};
use tsql_verdicts::floor::{Floor, fit_floor};
use tsql_verdicts::run_test::{RunTest, UnsharedDays, detectable_change, run_test};
use tsql_verdicts::verdict::verdict;

use crate::random::Rng;
use crate::shared::{close, golden};

fn numbers(row: &Value) -> Vec<f64> {
    let row = row.as_array().unwrap().iter();
    row.map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn random_numbers_and_distributions_match() {
    let Some(golden) = golden() else { return };
    let functions = &golden["functions"];
    let mut rng = Rng::new(1);
    for index in 0..3 {
        close(rng.uniform(), &functions["uniform_of_seed_1"][index]);
    }
    for index in 0..3 {
        close(rng.normal(), &functions["normal_after_them"][index]);
    }
    for row in functions["t_two_sided"].as_array().unwrap() {
        close(two_sided_p(numbers(row)[0], numbers(row)[1]), &row[2]);
    }
    for row in functions["t_quantile"].as_array().unwrap() {
        close(quantile(numbers(row)[0], numbers(row)[1]), &row[2]);
    }
    let ps = [0.01, 0.04, 0.03, 0.5, 0.002];
    let corrected = ps.into_iter().collect::<PValues>().benjamini_hochberg();
    for (index, p) in ps.into_iter().enumerate() {
        close(corrected.get(p), &functions["benjamini_hochberg"][index]);
    }
    let pair = RepeatPair::new(
        &[10.0, 10.1, 10.2, 10.05, 10.15],
        &[10.6, 10.55, 10.7, 10.65, 10.5],
    );
    let found = compare(&[pair.unwrap()], 0.02)[0];
    let expected = &functions["mann_whitney"];
    close(found.p, &expected["p"]);
    for (index, change) in [found.change, found.change_low, found.change_high]
        .into_iter()
        .enumerate()
    {
        close(1.0 + change, &expected["interval"][index]);
    }
    assert_eq!(expected["verdict"], found.verdict.word());
}

#[test]
fn floors_match() {
    let Some(golden) = golden() else { return };
    let functions = &golden["functions"];
    let differences: Vec<f64> = (0..60)
        .map(|index| 0.001 * f64::from((index % 7 - 3) * (1 + index % 5)))
        .collect();
    let floor = fit_floor(&differences).unwrap();
    let expected = &functions["floor_of_differences"];
    for (index, found) in [floor.sigma, floor.nu, floor.spread]
        .into_iter()
        .enumerate()
    {
        close(found, &expected[index]);
    }
    assert_eq!(expected[3], floor.pairs);
    assert!(functions["no_floor_of_19"].is_null());
    assert_eq!(fit_floor(&[0.01; 19]), None);
}

#[test]
fn tests_and_verdicts_match() {
    let Some(golden) = golden() else { return };
    let floor = |sigma, nu, spread| Floor {
        sigma,
        nu,
        spread,
        pairs: 50,
    };
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let test = |a: &[f64], b: &[f64], floor: Option<Floor>, days| {
        run_test(&logarithms(a), &logarithms(b), floor.as_ref(), days)
    };
    let known = Some(floor(0.01, 8.0, 0.012));
    let (a, b) = ([100.0, 100.5, 99.8], [104.0, 104.6, 103.9]);
    let days = UnsharedDays {
        day_sigma: 0.02,
        days: [1, 1],
    };
    let equal = Some(floor(0.002, 20.0, 0.0022));
    for (name, found) in [
        ("one_run", test(&a[..1], &b[..1], known, None)),
        ("three_runs", test(&a, &b, known, None)),
        ("three_runs_without_floor", test(&a, &b, None, None)),
        ("other_day", test(&a[..1], &b[..1], known, Some(days))),
        (
            "four_equal_runs",
            test(
                &[100.0, 100.1, 99.9, 100.0],
                &[100.1, 100.0, 100.2, 99.9],
                equal,
                None,
            ),
        ),
    ] {
        let expected = &golden["functions"]["run_test"][name];
        let found: RunTest = found.unwrap();
        close(found.change, &expected["change"]);
        close(found.se, &expected["se"]);
        close(found.df, &expected["df"]);
        close(found.p, &expected["p"]);
        close(detectable_change(&found), &expected["detectable"]);
        let word = verdict(&found, found.p, 0.02, 0.05).word();
        assert_eq!(expected["verdict"], word, "{name}");
    }
    assert_eq!(run_test(&[4.6], &[4.7], None, None), None);
    assert_eq!(golden["functions"]["one_run_without_floor"], "unclear");
}
