//! Contrasts of blocks A B B A and B A A B, in which slow drift and the day cancel.

use crate::floor::Floor;
use crate::moments::{float, mean, squares};
use crate::run_test::RunTest;

/// Minimum number of blocks for a test without a floor.
pub const MIN_BLOCKS: usize = 4;

/// Number of runs of a block.
pub const BLOCK_RUNS: usize = 4;

/// Side of a run in a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSide {
    /// The first side, the baseline.
    A,
    /// The second side.
    B,
}

/// Returns the schedule of `blocks` blocks: A B B A and B A A B in turn.
pub fn schedule(blocks: usize) -> Vec<BlockSide> {
    use BlockSide::{A, B};
    let orders = [[A, B, B, A], [B, A, A, B]];
    orders.into_iter().cycle().take(blocks).flatten().collect()
}

/// Returns the contrast of each complete block: mean level of B minus mean level of A. `runs` are sides and levels in
/// the order of the schedule, `size` runs for each block. A block without one of the sides has no contrast.
pub fn contrasts(runs: &[(BlockSide, f64)], size: usize) -> Vec<f64> {
    let contrast = |block: &[(BlockSide, f64)]| {
        let levels = |wanted| {
            let of_side = block.iter().filter(|(side, _)| *side == wanted);
            of_side.map(|(_, level)| *level).collect::<Vec<f64>>()
        };
        let contrast = mean(&levels(BlockSide::B)) - mean(&levels(BlockSide::A));
        contrast.is_finite().then_some(contrast)
    };
    runs.chunks_exact(size.max(1))
        .filter_map(contrast)
        .collect()
}

/// Tests contrasts of blocks against no change: Student's t with blocks - 1 degrees of freedom, plus those of a floor.
///
/// The floor is [`fit_floor`](crate::floor::fit_floor) of contrasts between equal builds. Returns `None` for fewer than
/// [`MIN_BLOCKS`] contrasts without a floor, and for none.
pub fn contrast_test(contrasts: &[f64], floor: Option<&Floor>) -> Option<RunTest> {
    let free = float(contrasts.len().checked_sub(1)?);
    let own = squares(contrasts);
    let (variance, df) = if let Some(floor) = floor {
        let df = floor.nu + free;
        let pooled = (floor.nu * floor.sigma.powi(2) + own) / df;
        let is_bounded = free > 0.0 && free < 8.0;
        let variance = if is_bounded {
            pooled.max(floor.spread.powi(2))
        } else {
            pooled
        };
        (variance, df)
    } else {
        if contrasts.len() < MIN_BLOCKS {
            return None;
        }
        (own / free, free)
    };
    let se = (variance / float(contrasts.len())).sqrt();
    Some(RunTest::new(mean(contrasts), se, df))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_cancels_in_a_block() {
        let runs: Vec<(BlockSide, f64)> = schedule(4)
            .into_iter()
            .zip(0_u32..)
            .map(|(side, place)| {
                let change = if side == BlockSide::B { 0.03 } else { 0.0 };
                (side, 0.004 * f64::from(place) + change)
            })
            .collect();
        let found = contrasts(&runs, BLOCK_RUNS);
        assert_eq!(found.len(), 4);
        assert!(
            found.iter().all(|contrast| (contrast - 0.03).abs() < 1e-12),
            "{found:?}"
        );
        // An incomplete block has no contrast.
        assert_eq!(contrasts(&runs[..7], BLOCK_RUNS).len(), 1);
        assert!(contrasts(&[(BlockSide::A, 1.0); 4], BLOCK_RUNS).is_empty());
    }

    /// SciPy: `ttest_1samp([0.01, 0.02, 0.015, 0.03], 0)`.
    #[test]
    fn contrasts_are_tested_by_student() {
        let test = contrast_test(&[0.01, 0.02, 0.015, 0.03], None).unwrap();
        assert!(
            (test.p - 0.021_875_398_782_757_818).abs() < 1e-9,
            "{test:?}"
        );
        assert_eq!(contrast_test(&[0.01, 0.02, 0.015], None), None);
        assert_eq!(contrast_test(&[], None), None);
        let floor = Floor {
            sigma: 0.002,
            nu: 10.0,
            spread: 0.003,
            pairs: 30,
        };
        let test = contrast_test(&[0.02; 2], Some(&floor)).unwrap();
        assert!((test.se - 0.003 / 2_f64.sqrt()).abs() < 1e-12 && (test.df - 11.0).abs() < 1e-12);
    }
}
