//! The largest divergence of a piece of a series.

use crate::moments::float;

/// Buffers that are reused between pieces.
#[derive(Debug, Default)]
pub(super) struct DivergenceBuffers {
    /// Sum of the distances among the values from t to the current end, for each t.
    right: Vec<f64>,
    /// Sum of the distances among the first t values.
    left: Vec<f64>,
    /// `left` over t - 1; 0 for t = 1.
    left_mean: Vec<f64>,
    /// Whole numbers from 0, and their inverses (0 for 0).
    numbers: Vec<f64>,
    inverses: Vec<f64>,
}

impl DivergenceBuffers {
    fn reset(&mut self, length: usize) {
        for buffer in [&mut self.right, &mut self.left, &mut self.left_mean] {
            buffer.clear();
            buffer.resize(length + 1, 0.0);
        }
        let known = self.numbers.len();
        let numbers = (known..=length).map(float);
        self.numbers.extend(numbers);
        let inverse = |number| {
            if number == 0 {
                0.0
            } else {
                1.0 / float(number)
            }
        };
        self.inverses.extend((known..=length).map(inverse));
    }
}

/// Returns the index t and the size Q of the largest divergence between `piece[..t]` and `piece[t..k]`, over all ends k.
/// Both sides have at least `least` values, at least 1. Returns `None` for a shorter piece.
///
/// With n values before t and m after it: Q = 2/(n+m) sum(between) - 2m/((n+m)(n-1)) sum(within left) - 2n/((n+m)(m-1))
/// sum(within right), where the sums are over distances of pairs and a side of one value has none. It is the energy
/// distance times nm/(n+m). Among equals the first t counts, then the first k. The end k is free, so that a later change
/// does not hide an earlier one. Time is O(length squared).
pub(super) fn largest_divergence(
    piece: &[f64],
    least: usize,
    buffers: &mut DivergenceBuffers,
) -> Option<(usize, f64)> {
    let least = least.max(1);
    if piece.len() < 2 * least {
        return None;
    }
    buffers.reset(piece.len());
    let last = piece.len() - least;
    let mut best = (f64::NEG_INFINITY, 0);
    for (index, value) in piece.iter().enumerate() {
        let end = index + 1;
        let mut to_value = 0.0;
        let earlier = piece.iter().zip(&mut buffers.right).take(index).rev();
        for (other, right) in earlier {
            to_value += (other - value).abs();
            *right += to_value;
        }
        let whole = buffers.right.first().copied().unwrap_or(0.0);
        if let (Some(left), Some(left_mean)) =
            (buffers.left.get_mut(end), buffers.left_mean.get_mut(end))
        {
            *left = whole;
            *left_mean = if end > 1 { whole / float(end - 1) } else { 0.0 };
        }
        let Some(count) = (end.min(last + least) + 1).checked_sub(2 * least) else {
            continue;
        };
        let count = count.min(last + 1 - least);
        let scale = 2.0 / float(end);
        // t from `least` on; m = end - t, and the factor of the right side is 1 / (m - 1).
        let sides = buffers.left.iter().zip(&buffers.left_mean);
        let sides = sides.zip(&buffers.right).zip(&buffers.numbers);
        let inverses = buffers.inverses.get(..end - least).unwrap_or_default();
        let inverses = inverses.iter().rev();
        let all = sides.skip(least).take(count).zip(inverses);
        let end_number = float(end);
        for ((((left, left_mean), right), n), inverse) in all {
            let between = whole - left - right;
            let m = end_number - n;
            let size = scale * (between - m * left_mean - n * right * inverse);
            if size > best.0 || (size >= best.0 && *n < float(best.1)) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a whole number below the length"
                )]
                let at = *n as usize;
                best = (size, at);
            }
        }
    }
    Some((best.1, best.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula, written out.
    fn naive(z: &[f64], least: usize) -> (usize, f64) {
        let pairs = |values: &[f64]| -> f64 {
            let all = values.iter().enumerate();
            all.flat_map(|(index, a)| values[..index].iter().map(move |b| (a - b).abs()))
                .sum()
        };
        let mut best = (0, f64::NEG_INFINITY);
        for t in least..=z.len() - least {
            for k in t + least..=z.len() {
                let (x, y) = (&z[..t], &z[t..k]);
                let (n, m) = (float(x.len()), float(y.len()));
                let between: f64 = x
                    .iter()
                    .flat_map(|a| y.iter().map(move |b| (a - b).abs()))
                    .sum();
                let mut q = 2.0 / (n + m) * between;
                if n > 1.0 {
                    q -= 2.0 * m / ((n + m) * (n - 1.0)) * pairs(x);
                }
                if m > 1.0 {
                    q -= 2.0 * n / ((n + m) * (m - 1.0)) * pairs(y);
                }
                if q > best.1 {
                    best = (t, q);
                }
            }
        }
        best
    }

    #[test]
    fn the_fast_sums_are_the_formula() {
        let mut buffers = DivergenceBuffers::default();
        let mut state = 7_u64;
        for length in [2, 3, 6, 7, 19, 50] {
            let piece: Vec<f64> = (0..length)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    float(usize::try_from(state >> 40).unwrap()) / 1e6
                })
                .collect();
            for least in [1, 2, 3] {
                let found = largest_divergence(&piece, least, &mut buffers);
                if length < 2 * least {
                    assert_eq!(found, None);
                    continue;
                }
                let (at, size) = found.unwrap();
                let (expected_at, expected) = naive(&piece, least);
                assert_eq!(at, expected_at, "{length} {least}");
                assert!((size - expected).abs() < 1e-9 * expected.abs().max(1.0));
            }
        }
    }

    /// Value from the test of an independent implementation of the formula.
    #[test]
    fn the_first_of_three_levels_ends_where_the_second_begins() {
        let series = [
            0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0,
        ];
        let found = largest_divergence(&series, 1, &mut DivergenceBuffers::default());
        let (at, size) = found.unwrap();
        assert_eq!(at, 5);
        assert!((size - 761.282_142_857_142_8).abs() < 1e-9, "{size}");
    }
}
