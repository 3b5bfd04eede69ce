//! What an operation of XLA costs, from its 140 features and those of its operands: what its multiplications and additions are,
//! and the bytes of what it gives. As XLA's own cost analysis counts (`xla/service/hlo_cost_analysis.cc`): a multiplication and an
//! addition are two operations, and what a window reads of padding or between dilated elements is none.

use crate::hlo::FEATURE_COUNT;

/// The features of a node: 140 numbers.
pub type Features = [i64; FEATURE_COUNT];

const CONVOLUTION: i64 = 26;
const DOT: i64 = 34;

/// Most dimensions that features tell of.
const MOST_DIMENSIONS: usize = 6;
/// Most of them that convolutions tell the places of.
const MOST_SPATIAL: usize = 4;
/// Most elements that a window (or what it gives, if that is less) has along a dimension, and most that its input is spread by: real
/// ones have thousands, and a damaged graph is not to keep anyone waiting.
const MOST_STEPS: i128 = 1 << 16;

// Places among the features.
const INVALID: usize = 2;
const DIMENSIONS: usize = 21;
const ELEMENTS: usize = 28;
const WINDOW: usize = 37;
const STRIDE: usize = 45;
const PADDING_LOW: usize = 53;
const WINDOW_DILATION: usize = 69;
const BASE_DILATION: usize = 77;
const INPUT_FEATURE: usize = 94;
const INPUT_SPATIAL: usize = 95;
const KERNEL_INPUT: usize = 99;
const KERNEL_OUTPUT: usize = 100;
const KERNEL_SPATIAL: usize = 101;
const OUTPUT_BATCH: usize = 105;
const OUTPUT_FEATURE: usize = 106;
const FEATURE_GROUPS: usize = 107;

/// Bytes of an element of each type, in the order of the features; 0 for what has no size of its own (tuples, tokens).
const ELEMENT_BYTES: [i64; 19] = [0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 0, 0, 0];

/// Multiplications and additions of a `dot` or `convolution` (opcodes of [`crate::hlo`]); 0 of all others, which move more than they
/// compute. The order of operands does not matter. `None` where operands are lacking or do not fit.
///
/// Features do not say which dimensions a `dot` contracts: those that fit the sizes, and of several ways the one with the fewest.
pub fn flop_count(opcode: i64, features: &Features, operands: &[Features]) -> Option<i64> {
    if !matches!(opcode, DOT | CONVOLUTION) {
        return Some(0);
    }
    let (a, b) = match operands {
        // A graph says once what is used twice.
        [one] => (one, one),
        [a, b] => (a, b),
        _ => return None,
    };
    if opcode == DOT {
        return dot(features, a, b);
    }
    // The one that fits as the kernel; where both do, the fewer.
    let ways = [convolution(features, a, b), convolution(features, b, a)];
    ways.into_iter().flatten().min()
}

/// Bytes of what an operation gives; `None` for a tuple or a token.
pub fn byte_count(features: &Features) -> Option<i64> {
    let mut types = features.iter().skip(INVALID).zip(ELEMENT_BYTES);
    let (_, bytes) = types.find(|(is_it, bytes)| **is_it == 1 && *bytes > 0)?;
    elements(features).checked_mul(bytes)
}

/// The sizes of what it gives, as far as features tell them.
fn dimensions(features: &Features) -> impl Iterator<Item = i64> + Clone + '_ {
    let sizes = features.iter().skip(DIMENSIONS).take(MOST_DIMENSIONS);
    sizes.copied().take_while(|size| *size > 0)
}

/// How many numbers it gives.
fn elements(features: &Features) -> i64 {
    let sizes = dimensions(features);
    // Of more dimensions the product is told, rounded to 24 bits.
    if sizes.clone().count() == MOST_DIMENSIONS {
        return at(features, ELEMENTS, 0);
    }
    sizes.product()
}

fn at(features: &Features, start: usize, place: usize) -> i64 {
    features.get(start + place).copied().unwrap_or_default()
}

/// The size of the dimension whose place stands among the features at `place`.
fn size(of: &Features, features: &Features, place: usize) -> Option<i64> {
    let dimension = usize::try_from(at(features, place, 0)).ok()?;
    (dimension < MOST_DIMENSIONS).then(|| at(of, DIMENSIONS, dimension))
}

/// What is given has the sizes of the batch, then those that only `a` has, then those that only `b` has; what both have besides the batch is
/// contracted.
fn dot(product: &Features, a: &Features, b: &Features) -> Option<i64> {
    let sizes = |features| dimensions(features).collect::<Vec<i64>>();
    let (given, a, b) = (sizes(product), sizes(a), sizes(b));
    let shared = (a.len() + b.len()).checked_sub(given.len())?;
    (1..=shared / 2).find_map(|contracted| {
        let (batch, own) = given.split_at_checked(shared - 2 * contracted)?;
        let of_one = |one: &[i64], other: &[i64]| {
            let count = one.len().checked_sub(batch.len() + contracted)?;
            let (of_one, of_other) = own.split_at_checked(count)?;
            let left = without(one, [batch, of_one])?;
            (left == without(other, [batch, of_other])?).then_some(left)
        };
        let left = of_one(&a, &b).or_else(|| of_one(&b, &a))?;
        let length = left.into_iter().try_fold(1_i64, i64::checked_mul)?;
        elements(product).checked_mul(length)?.checked_mul(2)
    })
}

/// The sizes that are left, in order, when these are taken out; `None` where one is not there.
fn without(sizes: &[i64], taken: [&[i64]; 2]) -> Option<Vec<i64>> {
    let mut left = sizes.to_vec();
    for size in taken.concat() {
        let place = left.iter().position(|other| *other == size)?;
        left.remove(place);
    }
    left.sort_unstable();
    Some(left)
}

fn convolution(output: &Features, input: &Features, kernel: &Features) -> Option<i64> {
    let spatial = dimensions(output).count().checked_sub(2)?;
    if spatial > MOST_SPATIAL
        || size(kernel, output, KERNEL_OUTPUT) != size(output, output, OUTPUT_FEATURE)
    {
        return None;
    }
    let channels = size(kernel, output, KERNEL_INPUT)?;
    if size(input, output, INPUT_FEATURE)? != channels * at(output, FEATURE_GROUPS, 0) {
        return None;
    }
    let is_spatial = |dimension: &usize| {
        let others = [OUTPUT_BATCH, OUTPUT_FEATURE].map(|place| at(output, place, 0));
        others
            .iter()
            .all(|other| usize::try_from(*other) != Ok(*dimension))
    };
    // Those of the output are not told: they are the others, in their order.
    let places = (0..MOST_DIMENSIONS).filter(is_spatial).take(spatial);
    let mut flops = 2_i64
        .checked_mul(size(output, output, OUTPUT_BATCH)?)?
        .checked_mul(size(output, output, OUTPUT_FEATURE)?)?
        .checked_mul(channels)?;
    for (place, dimension) in places.enumerate() {
        let window = Window {
            size: at(output, WINDOW, place),
            stride: at(output, STRIDE, place).max(1),
            padding_low: at(output, PADDING_LOW, place),
            dilation: at(output, WINDOW_DILATION, place).max(1),
            base_dilation: at(output, BASE_DILATION, place).max(1),
        };
        if size(kernel, output, KERNEL_SPATIAL + place)? != window.size {
            return None;
        }
        let from = size(input, output, INPUT_SPATIAL + place)?;
        let to = at(output, DIMENSIONS, dimension);
        flops = flops.checked_mul(window.reads(from, to)?)?;
    }
    Some(flops)
}

/// A window that moves along one dimension.
struct Window {
    size: i64,
    stride: i64,
    padding_low: i64,
    dilation: i64,
    base_dilation: i64,
}

impl Window {
    /// How often it reads an element of `from`, for all `to` places together. `None` beyond [`MOST_STEPS`].
    fn reads(&self, from: i64, to: i64) -> Option<i64> {
        if from < 1 || to < 1 || self.size < 1 {
            return Some(0);
        }
        // Element `e` lies at `e * spread`, and is read where `place * stride + step * dilation - padding` is that. Places and steps
        // may change their roles: of the many are counted, by the few, those that fit.
        let (places, steps) = ((to, self.stride), (self.size, self.dilation));
        let ((few, pace), (many, stride)) = if to < self.size {
            (places, steps)
        } else {
            (steps, places)
        };
        let [few, pace, many, stride] = [few, pace, many, stride].map(i128::from);
        let spread = i128::from(self.base_dilation);
        if few.max(spread) > MOST_STEPS {
            return None;
        }
        let last = (i128::from(from) - 1) * spread;
        let common = gcd(stride, spread);
        let period = spread / common;
        let inverse = (0..period).find(|it| it * (stride / common) % period == 1 % period)?;
        let fitting = |step: i128| {
            let start = step * pace - i128::from(self.padding_low);
            if start % common != 0 {
                return 0;
            }
            let least = (-start).div_euclid(stride) + i128::from((-start).rem_euclid(stride) > 0);
            let least = least.max(0);
            let most = (last - start).div_euclid(stride).min(many - 1);
            let first = (-start / common * inverse).rem_euclid(period);
            let first = least + (first - least).rem_euclid(period);
            if first > most {
                0
            } else {
                (most - first) / period + 1
            }
        };
        i64::try_from((0..few).map(fitting).sum::<i128>()).ok()
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features of what has these sizes, 32-bit floats.
    fn of(sizes: &[i64]) -> Features {
        let mut features = [0; FEATURE_COUNT];
        features[13] = 1;
        features[DIMENSIONS..DIMENSIONS + sizes.len()].copy_from_slice(sizes);
        features[ELEMENTS] = sizes.iter().product();
        features
    }

    #[test]
    fn dots_are_counted_with_and_without_a_batch() {
        for (a, b, product, flops) in [
            // 8 · 128 tokens of 768 by 12 heads of 64.
            (
                &[8, 128, 768][..],
                &[768, 12, 64][..],
                &[8, 128, 12, 64][..],
                2 * 8 * 128 * 768 * 768,
            ),
            // Scores of 96 heads.
            (
                &[8, 128, 12, 64],
                &[8, 128, 12, 64],
                &[8, 12, 128, 128],
                2 * 96 * 128 * 128 * 64,
            ),
            (&[4096], &[4096], &[], 2 * 4096),
            // Both dimensions are contracted, as in the gradient of a weight.
            (
                &[8, 128, 768],
                &[8, 128, 3072],
                &[768, 3072],
                2 * 8 * 128 * 768 * 3072,
            ),
            // Heads and what they have are contracted, and 8 · 128 is no batch.
            (
                &[8, 128, 12, 64],
                &[12, 64, 768],
                &[8, 128, 768],
                2 * 8 * 128 * 768 * 768,
            ),
            (&[1024, 2], &[2, 768], &[1024, 768], 2 * 1024 * 2 * 768),
        ] {
            assert_eq!(
                flop_count(DOT, &of(product), &[of(a), of(b)]),
                Some(flops),
                "{a:?} {b:?}"
            );
            assert_eq!(
                flop_count(DOT, &of(product), &[of(b), of(a)]),
                Some(flops),
                "{b:?} {a:?}"
            );
        }
        assert_eq!(
            flop_count(DOT, &of(&[2, 3]), &[of(&[2, 5]), of(&[7, 3])]),
            None
        );
        // Each row by each other one of the same 27.
        let twice = flop_count(DOT, &of(&[512, 27, 27]), &[of(&[512, 27, 128])]);
        assert_eq!(twice, Some(2 * 512 * 27 * 27 * 128));
        assert_eq!(flop_count(DOT, &of(&[2, 3]), &[]), None);
        assert_eq!(flop_count(2, &of(&[2, 3]), &[]), Some(0));
    }

    /// A convolution of two dimensions, `NHWC` by `HWIO`.
    fn of_window(
        output: &[i64],
        window: i64,
        stride: i64,
        padding: i64,
        base_dilation: i64,
    ) -> Features {
        let mut features = of(output);
        for (place, dimension) in (0..2).zip(0..) {
            features[WINDOW + place] = window;
            features[STRIDE + place] = stride;
            features[PADDING_LOW + place] = padding;
            features[WINDOW_DILATION + place] = 1;
            features[BASE_DILATION + place] = base_dilation;
            features[INPUT_SPATIAL + place] = 1 + dimension;
            features[KERNEL_SPATIAL + place] = dimension;
        }
        features[INPUT_FEATURE] = 3;
        features[KERNEL_INPUT] = 2;
        features[KERNEL_OUTPUT] = 3;
        features[OUTPUT_FEATURE] = 3;
        features[FEATURE_GROUPS] = 1;
        features
    }

    #[test]
    fn convolutions_do_not_count_what_is_padded() {
        // The first of ResNet-50: 112 places by 7, less 3 + 1 at the start and 2 at the end that are padding.
        let first = of_window(&[1, 112, 112, 64], 7, 2, 3, 1);
        let (input, kernel) = (of(&[1, 224, 224, 3]), of(&[7, 7, 3, 64]));
        let reads = 112 * 7 - (3 + 1) - 2;
        let flops = Some(2 * 64 * 3 * reads * reads);
        assert_eq!(flop_count(CONVOLUTION, &first, &[input, kernel]), flops);
        assert_eq!(flop_count(CONVOLUTION, &first, &[kernel, input]), flops);
        assert_eq!(flop_count(CONVOLUTION, &first, &[input, input]), None);
        // Its gradient by the input reads between the elements of what comes in: as many pairs as above.
        let back = of_window(&[1, 224, 224, 3], 7, 1, 3, 2);
        let (input, kernel) = (of(&[1, 112, 112, 64]), of(&[7, 7, 64, 3]));
        assert_eq!(flop_count(CONVOLUTION, &back, &[input, kernel]), flops);
    }

    #[test]
    fn reads_of_a_window_are_those_counted_one_by_one() {
        let mut compared = 0;
        for case in 0..20_000_i64 {
            // Digits of a case that is multiplied, as a cheap choice.
            let digit = |place: u32, base: i64| (case * 7_919 + 13) / 11_i64.pow(place) % base;
            let window = Window {
                size: 1 + digit(0, 7),
                stride: 1 + digit(1, 4),
                padding_low: digit(2, 9) - 3,
                dilation: 1 + digit(3, 3),
                base_dilation: 1 + digit(4, 6),
            };
            let (from, to) = (1 + digit(5, 5), 1 + case % 9);
            let end = (from - 1) * window.base_dilation + 1;
            let mut reads = 0;
            for place in 0..to {
                for step in 0..window.size {
                    let at = place * window.stride - window.padding_low + step * window.dilation;
                    let is_read = (0..end).contains(&at) && at % window.base_dilation == 0;
                    reads += i64::from(is_read);
                }
            }
            assert_eq!(window.reads(from, to), Some(reads), "case {case}");
            compared += i64::from(reads > 0);
        }
        assert!(compared > 10_000, "{compared}");
    }

    #[test]
    fn sizes_that_nobody_has_are_not_waited_for() {
        let window = |size| Window {
            size,
            stride: 1,
            padding_low: 0,
            dilation: 1,
            base_dilation: 1,
        };
        assert_eq!(window(i64::MAX).reads(i64::MAX, i64::MAX), None);
        assert_eq!(window(3).reads(i64::MAX, i64::MAX), None);
        assert_eq!(window(1).reads(i64::MAX, 5), Some(5));
        assert_eq!(window(i64::MAX).reads(7, 5), Some(7 + 6 + 5 + 4 + 3));
    }

    #[test]
    fn bytes_are_those_of_the_type() {
        assert_eq!(byte_count(&of(&[2, 3])), Some(24));
        assert_eq!(byte_count(&of(&[])), Some(4));
        let mut tuple = of(&[]);
        (tuple[13], tuple[18]) = (0, 1);
        assert_eq!(byte_count(&tuple), None);
    }
}
