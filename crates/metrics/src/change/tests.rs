//! Expected values marked SciPy are those of SciPy 1.17.1 (`scipy.stats.mannwhitneyu`, two-sided). Those of Holm's
//! correction are from statsmodels (`multipletests(..., method='holm')`). Intervals invert SciPy's test (with
//! continuity in the last case): the ratios c for which `old * c` and `new` differ with p of at most 5 %.

use super::*;

const A: [f64; 5] = [101.0, 99.5, 100.2, 103.1, 98.7];
const B: [f64; 6] = [110.2, 108.4, 111.9, 109.3, 107.7, 112.5];
const E: [f64; 7] = [5.0, 6.1, 7.3, 8.2, 9.9, 4.4, 3.1];
const F: [f64; 6] = [5.5, 6.6, 7.0, 10.1, 11.3, 4.9];

/// A list that is easy to reproduce in any language.
fn list(length: usize, seed: u64, scale: f64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        scale * (1000.0 + ranks::count_as_f64(usize::try_from((state >> 16) % 200).unwrap()))
    };
    (0..length).map(|_| next()).collect()
}

/// `list` without equal values.
fn distinct(length: usize, seed: u64, shift: f64) -> Vec<f64> {
    let values = list(length, seed, 1.0).into_iter().enumerate();
    values
        .map(|(index, value)| value + shift + 0.001 * ranks::count_as_f64(index))
        .collect()
}

fn close(actual: f64, expected: f64) {
    assert!(
        (actual / expected - 1.0).abs() < 1e-9,
        "{actual} is not {expected}"
    );
}

#[test]
fn small_samples_are_tested_exactly() {
    // SciPy, method='exact'.
    close(mann_whitney(&A, &B), 0.004_329_004_329_004_329);
    close(mann_whitney(&E, &F), 0.445_221_445_221_445_2);
    close(
        mann_whitney(&distinct(20, 5, 0.0), &distinct(20, 6, 20.25)),
        0.494_523_496_496_703_4,
    );
    // By hand: 2 of C(6, 3) = 20 picks are as extreme; a single pair is inconclusive.
    close(mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1);
    close(mann_whitney(&[1.0], &[2.0]), 1.0);
}

#[test]
fn ties_in_small_samples_are_counted_exactly() {
    // SciPy, method=PermutationMethod(n_resamples=10**6): all permutations.
    close(
        mann_whitney(
            &[100.0, 101.0, 101.0, 102.0],
            &[101.0, 102.0, 103.0, 103.0, 104.0],
        ),
        1.0 / 9.0,
    );
    close(
        mann_whitney(
            &[1.0, 1.0, 1.0, 2.0, 2.0, 3.0],
            &[2.0, 3.0, 3.0, 1.0, 3.0, 3.0, 4.0],
        ),
        0.099_067_599_067_599_07,
    );
    close(mann_whitney(&[7.0; 4], &[7.0; 5]), 1.0);
}

#[test]
fn large_samples_are_tested_by_the_normal_distribution() {
    // SciPy, method='asymptotic'; the second has 81 distinct values among 105.
    close(
        mann_whitney(&list(60, 1, 1.0), &list(50, 2, 1.01)),
        0.410_819_640_170_717_5,
    );
    close(
        mann_whitney(&list(60, 3, 1.0), &list(45, 4, 1.0)),
        0.332_978_925_385_188_6,
    );
    close(mann_whitney(&[1.0; 30], &[1.0; 30]), 1.0);
}

#[test]
fn exact_and_normal_agree_where_they_meet() {
    let (old, new) = (distinct(20, 5, 0.0), distinct(20, 6, 20.25));
    let exact = mann_whitney(&old, &new);
    // One more repeat in each list exceeds the limit of the exact distribution.
    let more = |list: &[f64]| [list, &[1100.5]].concat();
    assert!((mann_whitney(&more(&old), &more(&new)) - exact).abs() < 0.02);
}

#[test]
fn intervals_are_the_test_inverted() {
    for (old, new, low, high) in [
        (
            A.to_vec(),
            B.to_vec(),
            1.066_336_633_663_366_4,
            1.124_623_115_577_889_4,
        ),
        (
            E.to_vec(),
            F.to_vec(),
            0.707_070_707_070_707_1,
            2.129_032_258_064_516,
        ),
        (
            distinct(20, 5, 0.0),
            distinct(20, 6, 20.25),
            0.975_297_356_970_116,
            1.050_128_894_866_621_6,
        ),
        (
            list(60, 1, 1.0),
            list(50, 2, 1.01),
            0.988_084_905_660_377_4,
            1.027_672_790_901_137_4,
        ),
    ] {
        let (_, found_low, found_high) = ratio_interval(&old, &new);
        close(found_low, low);
        close(found_high, high);
    }
    // NumPy: exp(median(log(ratios))).
    close(ratio_interval(&A, &B).0, 1.091_179_514_074_618_3);
    close(ratio_interval(&E, &F).0, 1.188_879_567_554_906);
    // Three against three: even the widest interval has a confidence of only 90 %.
    let (estimate, low, high) = ratio_interval(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
    close(estimate, 2.5);
    assert_eq!((low, high), (0.0, f64::INFINITY));
}

#[test]
fn holm_corrects_as_statsmodels() {
    // statsmodels.
    let corrected = corrected_by(PValues::holm);
    corrected(
        &[0.01, 0.04, 0.03, 0.005, 0.5],
        &[0.04, 0.09, 0.09, 0.025, 0.5],
    );
    corrected(&[0.9, 0.8], &[1.0, 1.0]);
    // Equal values: the first of them has the largest factor.
    corrected(
        &[0.01, 0.02, 0.01, 0.01, 0.3],
        &[0.05, 0.05, 0.05, 0.05, 0.3],
    );
    let one: PValues = [0.1].into_iter().collect();
    close(one.holm().get(0.2), 1.0);
}

#[test]
fn benjamini_hochberg_corrects_as_statsmodels() {
    // statsmodels, method='fdr_bh'.
    let corrected = corrected_by(PValues::benjamini_hochberg);
    corrected(
        &[0.01, 0.04, 0.03, 0.005, 0.5],
        &[0.025, 0.05, 0.05, 0.025, 0.5],
    );
    corrected(
        &[0.01, 0.02, 0.01, 0.01, 0.3],
        &[1.0 / 60.0, 0.025, 1.0 / 60.0, 1.0 / 60.0, 0.3],
    );
    corrected(&[0.9, 0.8], &[0.9, 0.9]);
}

/// Checks a correction of some p-values.
fn corrected_by(correction: fn(&PValues) -> CorrectedPValues) -> impl Fn(&[f64], &[f64]) {
    move |all, expected| {
        let corrected = correction(&all.iter().copied().collect());
        for (p, expected) in all.iter().zip(expected) {
            close(corrected.get(*p), *expected);
        }
    }
}

/// `factor` times repeats with a scatter of 1 %.
fn noisy(length: usize, factor: f64, random: &mut fastrand::Rng) -> Vec<f64> {
    (0..length)
        .map(|_| factor * 1e6 * (0.99 + 0.02 * random.f64()))
        .collect()
}

#[test]
fn verdicts_follow_the_change() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut verdict_for = |length, factor| {
        let pair = RepeatPair::new(
            &noisy(length, 1.0, &mut random),
            &noisy(length, factor, &mut random),
        )
        .unwrap();
        let comparison = compare(&[pair], MINIMAL_CHANGE)[0];
        assert!(
            comparison.change_low <= comparison.change
                && comparison.change <= comparison.change_high
        );
        comparison.verdict
    };
    assert_eq!(verdict_for(10, 1.0), Verdict::Same);
    assert_eq!(verdict_for(10, 1.05), Verdict::Slower);
    assert_eq!(verdict_for(10, 0.95), Verdict::Faster);
    // Significant, but below the minimum change.
    assert_eq!(verdict_for(100, 1.01), Verdict::Same);
    // Too few repeats.
    assert_eq!(verdict_for(3, 1.5), Verdict::Unclear);
    assert_eq!(verdict_for(1, 1.0), Verdict::Unclear);
}

#[test]
fn a_change_at_the_edge_is_unclear() {
    let mut random = fastrand::Rng::with_seed(4);
    let pair =
        RepeatPair::new(&noisy(10, 1.0, &mut random), &noisy(10, 1.019, &mut random)).unwrap();
    let comparison = compare(&[pair], MINIMAL_CHANGE)[0];
    assert!(
        comparison.p_corrected < ALPHA && comparison.change < MINIMAL_CHANGE,
        "{comparison:?}"
    );
    assert_eq!(comparison.verdict, Verdict::Unclear);
}

#[test]
fn order_and_side_do_not_matter() {
    let pair = RepeatPair::new(&E, &F).unwrap();
    let forth = compare(std::slice::from_ref(&pair), 0.02)[0];
    let back = compare(&[RepeatPair::new(&F, &E).unwrap()], 0.02)[0];
    close((forth.change + 1.0) * (back.change + 1.0), 1.0);
    close((forth.change_low + 1.0) * (back.change_high + 1.0), 1.0);
    close(forth.p, back.p);
    let mut reversed = E;
    reversed.reverse();
    assert_eq!(
        compare(&[RepeatPair::new(&reversed, &F).unwrap()], 0.02)[0],
        forth
    );
}

/// Guarantee of the correction: at most 5 % of runs have any false positive.
#[test]
fn unchanged_kernels_are_rarely_called_changed() {
    let mut random = fastrand::Rng::with_seed(11);
    let (runs, kernels) = (60, 10);
    let (mut wrong_runs, mut covered) = (0, 0);
    for _ in 0..runs {
        // Scatter far above the minimum change, so that significance alone decides.
        let mut wild = || {
            (0..8)
                .map(|_| (0.5 * random.f64()).exp())
                .collect::<Vec<_>>()
        };
        let pairs: Vec<_> = (0..kernels)
            .map(|_| RepeatPair::new(&wild(), &wild()).unwrap())
            .collect();
        let comparisons = compare(&pairs, 0.0);
        let changed = |comparison: &&PairComparison| {
            matches!(comparison.verdict, Verdict::Faster | Verdict::Slower)
        };
        wrong_runs += usize::from(comparisons.iter().any(|comparison| changed(&comparison)));
        covered += comparisons
            .iter()
            .filter(|one| one.change_low <= 0.0 && one.change_high >= 0.0)
            .count();
    }
    // Binomial: more than 7 of 60 at 5 %, or fewer than 555 of 600 at 95 %, happens less than once in 100 seeds.
    assert!(wrong_runs <= 7, "{wrong_runs} of {runs} runs");
    assert!(
        covered >= 555,
        "{covered} of {} intervals hold the truth",
        runs * kernels
    );
}

#[test]
fn the_largest_change_is_found_among_many() {
    let mut random = fastrand::Rng::with_seed(5);
    let factors: Vec<f64> = (0..50)
        .map(|kernel| if kernel == 17 { 1.1 } else { 1.0 })
        .collect();
    let pairs: Vec<_> = factors
        .iter()
        .map(|&factor| {
            RepeatPair::new(
                &noisy(10, 1.0, &mut random),
                &noisy(10, factor, &mut random),
            )
            .unwrap()
        })
        .collect();
    let slower: Vec<_> = compare(&pairs, MINIMAL_CHANGE)
        .iter()
        .enumerate()
        .filter(|(_, comparison)| comparison.verdict == Verdict::Slower)
        .map(|(kernel, _)| kernel)
        .collect();
    assert_eq!(slower, [17]);
}

#[test]
fn invalid_durations_are_rejected() {
    for list in [&[][..], &[0.0], &[-1.0], &[f64::NAN], &[1.0, f64::INFINITY]] {
        assert_eq!(RepeatPair::new(list, &[1.0]), None);
        assert_eq!(RepeatPair::new(&[1.0], list), None);
    }
    let names = [
        Verdict::Same,
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Unclear,
    ]
    .map(Verdict::word);
    assert_eq!(names, ["same", "faster", "slower", "unclear"]);
}

#[test]
fn a_change_without_a_faster_minimum_is_unclear() {
    let mut random = fastrand::Rng::with_seed(3);
    let quiet = noisy(50, 1.0, &mut random);
    // Most repeats are a quarter slower, but not the fastest one.
    let disturbed = [noisy(40, 1.25, &mut random), noisy(10, 1.0, &mut random)].concat();
    let pair = RepeatPair::new(&quiet, &disturbed).unwrap();
    let comparison = compare(&[pair], MINIMAL_CHANGE)[0];
    assert!(comparison.p_corrected < 1e-6 && comparison.change > 0.1);
    assert!(comparison.minimum_change.abs() < MINIMAL_CHANGE);
    assert_eq!(comparison.verdict, Verdict::Unclear);
}

#[test]
fn spoiled_timings_are_unclear() {
    let mut random = fastrand::Rng::with_seed(4);
    for factor in [1.0, 1.5] {
        let (old, new) = (noisy(50, 1.0, &mut random), noisy(50, factor, &mut random));
        let pair = RepeatPair::new(&old, &new).unwrap();
        let fine = compare(std::slice::from_ref(&pair), MINIMAL_CHANGE)[0];
        assert_ne!(fine.verdict, Verdict::Unclear);
        let spoiled = compare(&[pair.with_spoiled(true)], MINIMAL_CHANGE)[0];
        assert_eq!(spoiled.verdict, Verdict::Unclear);
    }
}
