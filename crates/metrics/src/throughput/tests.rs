//! Compares with upstream's code, written out pair by pair and row by row, and with enumerated permutations.

use proptest::prelude::*;

use super::*;

/// Rows in this order.
fn rows(values: &[(f64, f64)]) -> Vec<PredictedRow> {
    let row = |((label, prediction), index): (&(f64, f64), u32)| PredictedRow {
        label: *label,
        prediction: *prediction,
        index: f64::from(index),
    };
    values.iter().zip(0..).map(row).collect()
}

/// The same rows without indices.
fn without_index(rows: &[PredictedRow]) -> Vec<PredictedRow> {
    let row = |row: &PredictedRow| PredictedRow {
        index: f64::NAN,
        ..*row
    };
    rows.iter().map(row).collect()
}

/// `metric_pairwise_comp_accuracy`.
fn pairs_by_hand(rows: &[PredictedRow]) -> f64 {
    let (mut correct, mut all) = (0.0, 0.0);
    for (index, a) in rows.iter().enumerate() {
        for b in &rows[index + 1..] {
            all += 1.0;
            if (a.prediction > b.prediction) == (a.label > b.label) {
                correct += 1.0;
            }
        }
    }
    correct / all
}

/// Stable `np.argsort`, in descending order.
fn descending_order(rows: &[PredictedRow], value: fn(&PredictedRow) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| (-value(&rows[*a])).total_cmp(&-value(&rows[*b])));
    order
}

/// `metric_top_k_recall`.
fn recall_by_hand(rows: &[PredictedRow], k: usize) -> f64 {
    let real: Vec<usize> = descending_order(rows, |row| row.label)
        .into_iter()
        .take(k)
        .collect();
    let selected = descending_order(rows, |row| row.prediction)
        .into_iter()
        .take(k);
    let hits = selected.filter(|row| real.contains(row)).count();
    row::float(hits) / row::float(k)
}

/// `metric_peak_score`.
fn peak_by_hand(rows: &[PredictedRow], k: usize) -> f64 {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| rows[*a].prediction.total_cmp(&rows[*b].prediction));
    order.reverse();
    order.truncate(k);
    let mut peaks = Vec::new();
    let mut peak = 0.0_f64;
    for row in order {
        peak = peak.max(rows[row].label);
        peaks.push(peak);
    }
    let highest = rows.iter().map(|row| row.label).fold(0.0, f64::max);
    peaks.iter().sum::<f64>() / row::float(peaks.len()) / highest
}

fn close(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-12,
        "{actual}, not {expected}"
    );
}

fn few() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let one = (1_u8..8, 0_u8..8).prop_map(|(label, prediction)| {
        (f64::from(label) / 8.0, f64::from(prediction) / 8.0 - 0.25)
    });
    proptest::collection::vec(one, 2..40)
}

proptest! {
    #[test]
    fn rankings_match_upstream_with_ties_in_any_order_of_rows(
        (values, shuffled) in few().prop_flat_map(|values| {
            let ordered_rows = Just(rows(&values)).prop_shuffle();
            (Just(values), ordered_rows)
        }),
        k in 1_usize..50,
    ) {
        let ordered = rows(&values);
        let has_one_label = values.iter().all(|value| value.0 == values[0].0);
        for rows in [&ordered, &shuffled] {
            if has_one_label {
                prop_assert_eq!(pairwise_accuracy(rows), Err(Undefined::OneLabel));
                prop_assert_eq!(recall_at_k(rows, k), Err(Undefined::OneLabel));
                prop_assert_eq!(peak_at_k(rows, k), Err(Undefined::OneLabel));
                continue;
            }
            close(pairwise_accuracy(rows).unwrap(), pairs_by_hand(&ordered));
            close(recall_at_k(rows, k).unwrap(), recall_by_hand(&ordered, k));
            close(peak_at_k(rows, k).unwrap(), peak_by_hand(&ordered, k));
        }
    }

    #[test]
    fn order_has_no_effect_without_indices(
        (values, shuffled) in few().prop_flat_map(|values| {
            let shuffled_values = Just(values.clone()).prop_shuffle();
            (Just(values), shuffled_values)
        }),
        k in 1_usize..50,
    ) {
        let (ordered, shuffled) = (rows(&values), rows(&shuffled));
        let (a, b) = (without_index(&ordered), without_index(&shuffled));
        prop_assert_eq!(pairwise_accuracy(&a), pairwise_accuracy(&b));
        prop_assert_eq!(recall_at_k(&a, k), recall_at_k(&b, k));
        prop_assert_eq!(peak_at_k(&a, k), peak_at_k(&b, k));
        // Ties are never misleadingly good: a pair counts its mean over both orders, the other metrics their minimum.
        if let (Ok(pairs), Ok(recall), Ok(peak)) =
            (pairwise_accuracy(&a), recall_at_k(&a, k), peak_at_k(&a, k))
        {
            let mut reversed = values.clone();
            reversed.reverse();
            let both = pairs_by_hand(&ordered) + pairs_by_hand(&rows(&reversed));
            close(pairs, both / 2.0);
            prop_assert!(recall <= recall_by_hand(&ordered, k) + 1e-12);
            prop_assert!(peak <= peak_by_hand(&ordered, k) + 1e-12);
        }
    }
}

#[test]
fn errors_are_those_of_a_calculation_by_hand() {
    // Differences -0.1 and 0.2; both labels differ by 0.25 from their mean.
    let two = rows(&[(1.0, 0.9), (0.5, 0.7)]);
    close(rmse(&two).unwrap(), (0.05_f64 / 2.0).sqrt());
    close(r2(&two).unwrap(), 1.0 - 0.05 / 0.125);
    close(mape(&two).unwrap(), (0.1 + 0.4) / 2.0);
    assert_eq!(mape(&rows(&[(0.0, 0.5), (1.0, 1.0)])), Ok(f64::INFINITY));
    assert_eq!(mape(&rows(&[(0.0, 0.0), (1.0, 1.0)])), Ok(0.0));
}

#[test]
fn misleadingly_good_scores_are_undefined() {
    let rank_metrics = |rows: &[PredictedRow]| {
        [
            r2(rows),
            pairwise_accuracy(rows),
            recall_at_k(rows, 1),
            peak_at_k(rows, 1),
        ]
    };
    assert_eq!(rank_metrics(&[]), [Err(Undefined::NoRows); 4]);
    assert_eq!(
        rank_metrics(&rows(&[(1.0, 0.3)])),
        [Err(Undefined::OneRow); 4]
    );
    let equal_labels = rows(&[(1.0, 0.3), (1.0, 0.4)]);
    assert_eq!(rank_metrics(&equal_labels), [Err(Undefined::OneLabel); 4]);
    for invalid in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let predicted = rows(&[(1.0, invalid), (0.5, 0.4)]);
        assert_eq!(rank_metrics(&predicted), [Err(Undefined::Prediction); 4]);
        assert_eq!(rmse(&predicted), Err(Undefined::Prediction));
        assert_eq!(mape(&predicted), Err(Undefined::Prediction));
        let labelled = rows(&[(invalid, 1.0), (0.5, 0.4)]);
        assert_eq!(rank_metrics(&labelled), [Err(Undefined::Label); 4]);
    }
    let nearly = rows(&[(1.0, 0.3), (1.0 - 1e-6, 0.4)]);
    assert_eq!(r2(&nearly), Err(Undefined::OneLabel));
    // Zeros of both signs are equal.
    assert_eq!(
        pairwise_accuracy(&rows(&[(0.0, 1.0), (-0.0, 2.0)])),
        Err(Undefined::OneLabel)
    );
}

fn program(runtime_ns: Option<f64>, prediction: Option<f64>) -> Program {
    Program {
        runtime_ns,
        prediction,
        index: f64::NAN,
    }
}

#[test]
fn failed_programs_cost_much_or_are_left_out() {
    // The failed one is predicted to be the fastest.
    let programs = [
        program(Some(2000.0), Some(0.5)),
        program(None, Some(0.9)),
        program(Some(1000.0), Some(0.2)),
        program(Some(500.0), None),
    ];
    let tenset = task_scores(&programs, Variant::Tenset);
    assert_eq!((tenset.rows, tenset.failed), (3, 1));
    // 500 ns is the best of all; the failed program counts 1e5 times that.
    close(tenset.best_ns.unwrap() / 500.0, f64::from(5e-7_f32) / 5e-7);
    close(
        tenset.tops_ns[0].unwrap() / tenset.best_ns.unwrap() / 1e5,
        1.0,
    );
    assert!((tenset.tops_ns[1].unwrap() / 1000.0 - 1.0).abs() < 1e-6);
    // 2000 > failed and 1000 > failed are ranked wrong, and so is 1000 before 2000.
    assert_eq!(tenset.pairwise_accuracy, Ok(0.0));
    let valid = task_scores(&programs, Variant::Valid);
    assert_eq!((valid.rows, valid.failed), (2, 1));
    assert!((valid.tops_ns[0].unwrap() / 2000.0 - 1.0).abs() < 1e-6);
    assert!(valid.rmse.unwrap() < 1.0 && tenset.mape.unwrap() > 1e9);
}

#[test]
fn tasks_without_a_score_have_a_reason() {
    let failed = [program(None, Some(0.5)), program(None, Some(0.4))];
    for variant in [Variant::Tenset, Variant::Valid] {
        let scores = task_scores(&failed, variant);
        assert_eq!(
            (scores.rmse, scores.tops_ns[0], scores.failed),
            (Err(Undefined::AllFailed), Err(Undefined::AllFailed), 2)
        );
    }
    let one = task_scores(&[program(Some(7.0), Some(0.1))], Variant::Valid);
    assert_eq!(one.pairwise_accuracy, Err(Undefined::OneRow));
    assert!((one.tops_ns[3].unwrap() / 7.0 - 1.0).abs() < 1e-6);
    let zero_runtime = [program(Some(0.0), Some(0.1)), program(Some(7.0), Some(0.1))];
    assert_eq!(
        task_scores(&zero_runtime, Variant::Valid).tops_ns[0],
        Err(Undefined::Label)
    );
    let none = [program(Some(3.0), None)];
    assert_eq!(
        task_scores(&none, Variant::Valid).rmse,
        Err(Undefined::NoRows)
    );
    let nan_prediction = [
        program(Some(3.0), Some(f64::NAN)),
        program(Some(1.0), Some(1.0)),
    ];
    assert_eq!(
        task_scores(&nan_prediction, Variant::Valid).tops_ns,
        [Err(Undefined::Prediction); 4]
    );
}

#[test]
fn a_network_is_the_ratio_of_weighted_sums() {
    let task = |best, chosen, weight| TaskLatency {
        best,
        chosen,
        weight,
    };
    let tasks = [task(1.0, 2.0, 3.0), task(10.0, 10.0, 1.0)];
    close(top_k_score(&tasks).unwrap(), 13.0 / 16.0);
    assert_eq!(top_k_score(&[]), None);
    assert_eq!(top_k_score(&[task(0.0, 0.0, 1.0)]), None);
    assert_eq!(top_k_score(&[task(1.0, f64::INFINITY, 1.0)]), None);
    assert_eq!(top_k_score(&[task(1.0, 2.0, -1.0)]), None);
}

/// All permutations.
fn orders(values: &[f64]) -> Vec<Vec<f64>> {
    if values.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for position in 0..values.len() {
        let mut rest = values.to_vec();
        let first = rest.remove(position);
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

#[test]
fn a_random_order_scores_what_all_orders_score_on_average() {
    for labels in [
        vec![1.0, 0.8, 0.5, 0.3, 0.1],
        vec![1.0, 0.8, 0.5, 0.5, 0.5, 0.1],
    ] {
        let all = orders(&labels);
        let mean = |metric: &dyn Fn(&[PredictedRow]) -> f64| {
            let score = |order: &Vec<f64>| {
                let both = labels.iter().copied().zip(order.iter().copied());
                metric(&without_index(&rows(&both.collect::<Vec<_>>())))
            };
            all.iter().map(score).sum::<f64>() / row::float(all.len())
        };
        let is_tied = labels.len() == 6;
        close(
            random_pairwise_accuracy(&labels).unwrap(),
            mean(&|rows| pairwise_accuracy(rows).unwrap()),
        );
        close(
            random_mape(&labels).unwrap(),
            mean(&|rows| mape(rows).unwrap()),
        );
        close(mean(&|rows| r2(rows).unwrap()), -1.0);
        for k in 1..=labels.len() + 1 {
            // For equal predictions the slower program comes first; a random order has no equal predictions.
            if !is_tied {
                close(
                    random_peak_at_k(&labels, k).unwrap(),
                    mean(&|rows| peak_at_k(rows, k).unwrap()),
                );
                let slow = |row: &PredictedRow| 1.0 / row.label;
                close(
                    random_min_cost_at_k(
                        &labels.iter().map(|one| 1.0 / one).collect::<Vec<_>>(),
                        k,
                    )
                    .unwrap(),
                    mean(&|rows| min_cost_at_k(rows, slow, [k])[0].unwrap()),
                );
            }
        }
    }
    assert_eq!(random_min_cost_at_k(&[], 3), None);
    assert_eq!(
        random_pairwise_accuracy(&[1.0, 1.0]),
        Err(Undefined::OneLabel)
    );
    assert_eq!(random_peak_at_k(&[1.0], 1), Err(Undefined::OneRow));
}

#[test]
fn a_random_task_is_scored_by_the_programs_that_are_predicted() {
    let programs = [
        program(Some(1000.0), Some(0.1)),
        program(Some(2000.0), Some(f64::NAN)),
        program(Some(500.0), None),
        program(None, Some(0.3)),
    ];
    let scores = random_task_scores(&programs, Variant::Valid);
    assert_eq!((scores.rows, scores.failed), (2, 1));
    // Labels 1/2 and 1/4 of the best, which has no prediction: their variance is 1/64.
    assert!((scores.rmse.unwrap() - (2.0_f64 / 64.0).sqrt()).abs() < 1e-7);
    assert_eq!((scores.r2, scores.pairwise_accuracy), (Ok(-1.0), Ok(0.5)));
    assert!((scores.tops_ns[0].unwrap() / 1500.0 - 1.0).abs() < 1e-6);
    assert!((scores.tops_ns[1].unwrap() / 1000.0 - 1.0).abs() < 1e-6);
    let tenset = random_task_scores(&programs, Variant::Tenset);
    let first = (1000.0 + 2000.0 + 500.0 * 1e5) / 3.0;
    assert!((tenset.tops_ns[0].unwrap() / first - 1.0).abs() < 1e-6);
    let failed = [program(None, Some(0.3))];
    let none = random_task_scores(&failed, Variant::Tenset);
    assert_eq!(none.rmse, Err(Undefined::AllFailed));
}
