//! Change points of simulated series with the default options.

use tsql_verdicts::change_points::{ChangePointOptions, change_points};

use crate::random::Rng;
use crate::shared::{Counts, check, golden};

const LENGTH: usize = 120;

pub(crate) fn series(name: &str, length: usize, rng: &mut Rng) -> Vec<f64> {
    let mut noise = if name == "autocorrelated" {
        rng.autoregressive(length, 0.6, 0.01)
    } else {
        (0..length).map(|_| 0.01 * rng.normal()).collect()
    };
    for (place, x) in (0_u32..).zip(&mut noise) {
        *x += match name {
            "outliers" if rng.uniform() < 0.03 => 1.15_f64.ln(),
            "step" if place >= 60 => 1.03_f64.ln(),
            "late_step" if place >= 115 => 1.03_f64.ln(),
            "slope" => 0.0005 * f64::from(place),
            _ => 0.0,
        };
    }
    noise.into_iter().map(|x| 100.0 * x.exp()).collect()
}

#[test]
fn steps_are_found_and_noise_is_not() {
    let Some(golden) = golden() else { return };
    let names = [
        "independent",
        "autocorrelated",
        "outliers",
        "slope",
        "step",
        "late_step",
    ];
    for (number, name) in (0..).zip(names) {
        let mut rng = Rng::new(9000 + number);
        let truth: Option<usize> = match name {
            "step" => Some(60),
            "late_step" => Some(115),
            _ => None,
        };
        let mut counts: Counts = [("points", 0), ("found_within_2", 0)].into();
        for _ in 0..40 {
            let values = series(name, LENGTH, &mut rng);
            let points = change_points(&values, &ChangePointOptions::default());
            *counts.get_mut("points").unwrap() += i64::try_from(points.len()).unwrap();
            let is_found =
                |truth: usize| points.iter().any(|point| point.index.abs_diff(truth) <= 2);
            *counts.get_mut("found_within_2").unwrap() += i64::from(truth.is_some_and(is_found));
        }
        let path = format!("change_points/simulated/{name}/corrected_segments_of_3_and_2_percent");
        check(&golden, &path, &counts);
    }
}
