//! Cost of an XLA operation: FLOPs and output bytes, from its 140 features and those of its operands.
//!
//! The rules are those of XLA's cost analysis (`xla/service/hlo_cost_analysis.cc`). A multiply-add counts
//! as two operations. Window elements that fall on padding or between dilated elements count as none.

use crate::hlo::FEATURE_COUNT;

/// Features of a node: 140 numbers.
pub type Features = [i64; FEATURE_COUNT];

const CONVOLUTION: i64 = 26;
const DOT: i64 = 34;

/// Maximum number of dimensions that the features describe.
const MAX_DIMENSIONS: usize = 6;
/// Maximum number of spatial dimensions that the features of a convolution describe.
const MAX_SPATIAL: usize = 4;
/// Maximum window size (or output size, if smaller) along a dimension, and maximum base dilation.
///
/// Real graphs have thousands at most. The limit bounds the run time on damaged graphs.
const MAX_STEPS: i128 = 1 << 16;

// Offsets in the feature vector.
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

/// Bytes per element by type, in the order of the features. Tuples and tokens have no size (0).
const ELEMENT_BYTES: [i64; 19] = [0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 0, 0, 0];

/// FLOPs of a `dot` or `convolution` (opcodes of [`crate::hlo`]). All other operations are memory-bound and
/// count as 0.
///
/// The order of operands does not matter. Returns `None` if operands are missing or do not fit.
///
/// The features do not contain the contracted dimensions of a `dot`. They are inferred from the sizes. If
/// several assignments fit, the one with the fewest contracted dimensions is used.
pub fn flop_count(opcode: i64, features: &Features, operands: &[Features]) -> Option<i64> {
    if !matches!(opcode, DOT | CONVOLUTION) {
        return Some(0);
    }
    let (a, b) = match operands {
        // The graph lists an operand once even if it is used twice.
        [one] => (one, one),
        [a, b] => (a, b),
        _ => return None,
    };
    if opcode == DOT {
        return dot_flops(features, a, b);
    }
    // The operand that fits is the kernel. If both fit, the smaller count is used.
    let assignments = [
        convolution_flops(features, a, b),
        convolution_flops(features, b, a),
    ];
    assignments.into_iter().flatten().min()
}

/// Output bytes of an operation. Returns `None` for a tuple or a token.
pub fn byte_count(features: &Features) -> Option<i64> {
    let mut types = features.iter().skip(INVALID).zip(ELEMENT_BYTES);
    let (_, bytes) = types.find(|(flag, bytes)| **flag == 1 && *bytes > 0)?;
    element_count(features).checked_mul(bytes)
}

/// Output shape, as far as the features describe it.
fn dimensions(features: &Features) -> impl Iterator<Item = i64> + Clone + '_ {
    let sizes = features.iter().skip(DIMENSIONS).take(MAX_DIMENSIONS);
    sizes.copied().take_while(|size| *size > 0)
}

/// Number of output elements.
fn element_count(features: &Features) -> i64 {
    let sizes = dimensions(features);
    // A shape may have more dimensions than the features list. Then only their product is known, rounded to 24 bits.
    if sizes.clone().count() == MAX_DIMENSIONS {
        return feature_at(features, ELEMENTS, 0);
    }
    sizes.product()
}

fn feature_at(features: &Features, start: usize, index: usize) -> i64 {
    features.get(start + index).copied().unwrap_or_default()
}

/// Size in `shape` of the dimension whose number is the feature at `index`.
fn size_of_dimension(shape: &Features, features: &Features, index: usize) -> Option<i64> {
    let dimension = usize::try_from(feature_at(features, index, 0)).ok()?;
    (dimension < MAX_DIMENSIONS).then(|| feature_at(shape, DIMENSIONS, dimension))
}

/// FLOPs of a `dot`.
///
/// The output shape is the batch dimensions, then the dimensions of `a` only, then those of `b` only. Dimensions that
/// both have besides the batch are contracted.
fn dot_flops(product: &Features, a: &Features, b: &Features) -> Option<i64> {
    let sizes = |features| dimensions(features).collect::<Vec<i64>>();
    let (output_sizes, a, b) = (sizes(product), sizes(a), sizes(b));
    let common = (a.len() + b.len()).checked_sub(output_sizes.len())?;
    (1..=common / 2).find_map(|contracted| {
        let (batch, unbatched) = output_sizes.split_at_checked(common - 2 * contracted)?;
        let contracted_sizes = |left: &[i64], right: &[i64]| {
            let count = left.len().checked_sub(batch.len() + contracted)?;
            let (left_sizes, right_sizes) = unbatched.split_at_checked(count)?;
            let lengths = remove_sizes(left, [batch, left_sizes])?;
            (lengths == remove_sizes(right, [batch, right_sizes])?).then_some(lengths)
        };
        let lengths = contracted_sizes(&a, &b).or_else(|| contracted_sizes(&b, &a))?;
        let length = lengths.into_iter().try_fold(1_i64, i64::checked_mul)?;
        element_count(product).checked_mul(length)?.checked_mul(2)
    })
}

/// Removes the sizes `removed` from `sizes` and sorts the rest. Returns `None` if one is missing.
fn remove_sizes(sizes: &[i64], removed: [&[i64]; 2]) -> Option<Vec<i64>> {
    let mut remaining = sizes.to_vec();
    for size in removed.concat() {
        let position = remaining.iter().position(|other| *other == size)?;
        remaining.remove(position);
    }
    remaining.sort_unstable();
    Some(remaining)
}

fn convolution_flops(output: &Features, input: &Features, kernel: &Features) -> Option<i64> {
    let spatial = dimensions(output).count().checked_sub(2)?;
    if spatial > MAX_SPATIAL
        || size_of_dimension(kernel, output, KERNEL_OUTPUT)
            != size_of_dimension(output, output, OUTPUT_FEATURE)
    {
        return None;
    }
    let channels = size_of_dimension(kernel, output, KERNEL_INPUT)?;
    if size_of_dimension(input, output, INPUT_FEATURE)?
        != channels * feature_at(output, FEATURE_GROUPS, 0)
    {
        return None;
    }
    let is_spatial = |dimension: &usize| {
        let others = [OUTPUT_BATCH, OUTPUT_FEATURE].map(|feature| feature_at(output, feature, 0));
        others
            .iter()
            .all(|other| usize::try_from(*other) != Ok(*dimension))
    };
    // The spatial dimensions of the output are not in the features. They are the remaining ones, in order.
    let spatial_dimensions = (0..MAX_DIMENSIONS).filter(is_spatial).take(spatial);
    let mut flops = 2_i64
        .checked_mul(size_of_dimension(output, output, OUTPUT_BATCH)?)?
        .checked_mul(size_of_dimension(output, output, OUTPUT_FEATURE)?)?
        .checked_mul(channels)?;
    for (axis, dimension) in spatial_dimensions.enumerate() {
        let window = Window {
            size: feature_at(output, WINDOW, axis),
            stride: feature_at(output, STRIDE, axis).max(1),
            padding_low: feature_at(output, PADDING_LOW, axis),
            dilation: feature_at(output, WINDOW_DILATION, axis).max(1),
            base_dilation: feature_at(output, BASE_DILATION, axis).max(1),
        };
        if size_of_dimension(kernel, output, KERNEL_SPATIAL + axis)? != window.size {
            return None;
        }
        let input_size = size_of_dimension(input, output, INPUT_SPATIAL + axis)?;
        let output_size = feature_at(output, DIMENSIONS, dimension);
        flops = flops.checked_mul(window.count_reads(input_size, output_size)?)?;
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
    /// Number of reads of an element of the input (of `input_size`) over all `output_size` window positions. Returns
    /// `None` beyond [`MAX_STEPS`].
    fn count_reads(&self, input_size: i64, output_size: i64) -> Option<i64> {
        if input_size < 1 || output_size < 1 || self.size < 1 {
            return Some(0);
        }
        // Element `e` is at `e * spacing`. It is read if `position * stride + step * dilation - padding` equals that.
        // Positions and steps are interchangeable, so the loop runs over the smaller set and counts matches in the
        // larger.
        let (positions, steps) = ((output_size, self.stride), (self.size, self.dilation));
        let ((count, step_size), (matched_count, matched_stride)) = if output_size < self.size {
            (positions, steps)
        } else {
            (steps, positions)
        };
        let [count, step_size, matched_count, matched_stride] =
            [count, step_size, matched_count, matched_stride].map(i128::from);
        let spacing = i128::from(self.base_dilation);
        if count.max(spacing) > MAX_STEPS {
            return None;
        }
        let last = (i128::from(input_size) - 1) * spacing;
        let divisor = gcd(matched_stride, spacing);
        let period = spacing / divisor;
        let inverse = (0..period)
            .find(|candidate| candidate * (matched_stride / divisor) % period == 1 % period)?;
        let matches = |step: i128| {
            let start = step * step_size - i128::from(self.padding_low);
            if start % divisor != 0 {
                return 0;
            }
            let min_match = (-start).div_euclid(matched_stride)
                + i128::from((-start).rem_euclid(matched_stride) > 0);
            let min_match = min_match.max(0);
            let max_match = (last - start)
                .div_euclid(matched_stride)
                .min(matched_count - 1);
            let first = (-start / divisor * inverse).rem_euclid(period);
            let first = min_match + (first - min_match).rem_euclid(period);
            if first > max_match {
                0
            } else {
                (max_match - first) / period + 1
            }
        };
        i64::try_from((0..count).map(matches).sum::<i128>()).ok()
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features of a 32-bit float array of this shape.
    fn features_of_shape(sizes: &[i64]) -> Features {
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
            // Both dimensions are contracted, as in a weight gradient.
            (
                &[8, 128, 768],
                &[8, 128, 3072],
                &[768, 3072],
                2 * 8 * 128 * 768 * 3072,
            ),
            // Heads and head size are contracted. The 8 · 128 is not a batch.
            (
                &[8, 128, 12, 64],
                &[12, 64, 768],
                &[8, 128, 768],
                2 * 8 * 128 * 768 * 768,
            ),
            (&[1024, 2], &[2, 768], &[1024, 768], 2 * 1024 * 2 * 768),
        ] {
            assert_eq!(
                flop_count(
                    DOT,
                    &features_of_shape(product),
                    &[features_of_shape(a), features_of_shape(b)]
                ),
                Some(flops),
                "{a:?} {b:?}"
            );
            assert_eq!(
                flop_count(
                    DOT,
                    &features_of_shape(product),
                    &[features_of_shape(b), features_of_shape(a)]
                ),
                Some(flops),
                "{b:?} {a:?}"
            );
        }
        assert_eq!(
            flop_count(
                DOT,
                &features_of_shape(&[2, 3]),
                &[features_of_shape(&[2, 5]), features_of_shape(&[7, 3])]
            ),
            None
        );
        // Each row with each other row of the same 27.
        let twice = flop_count(
            DOT,
            &features_of_shape(&[512, 27, 27]),
            &[features_of_shape(&[512, 27, 128])],
        );
        assert_eq!(twice, Some(2 * 512 * 27 * 27 * 128));
        assert_eq!(flop_count(DOT, &features_of_shape(&[2, 3]), &[]), None);
        assert_eq!(flop_count(2, &features_of_shape(&[2, 3]), &[]), Some(0));
    }

    /// A 2-D convolution, `NHWC` by `HWIO`.
    fn convolution_features(
        output: &[i64],
        window: i64,
        stride: i64,
        padding: i64,
        base_dilation: i64,
    ) -> Features {
        let mut features = features_of_shape(output);
        for (axis, dimension) in (0..2).zip(0..) {
            features[WINDOW + axis] = window;
            features[STRIDE + axis] = stride;
            features[PADDING_LOW + axis] = padding;
            features[WINDOW_DILATION + axis] = 1;
            features[BASE_DILATION + axis] = base_dilation;
            features[INPUT_SPATIAL + axis] = 1 + dimension;
            features[KERNEL_SPATIAL + axis] = dimension;
        }
        features[INPUT_FEATURE] = 3;
        features[KERNEL_INPUT] = 2;
        features[KERNEL_OUTPUT] = 3;
        features[OUTPUT_FEATURE] = 3;
        features[FEATURE_GROUPS] = 1;
        features
    }

    #[test]
    fn convolutions_do_not_count_padding() {
        // The first convolution of ResNet-50: 112 positions times 7, minus 3 + 1 padded reads at the start
        // and 2 at the end.
        let first = convolution_features(&[1, 112, 112, 64], 7, 2, 3, 1);
        let (input, kernel) = (
            features_of_shape(&[1, 224, 224, 3]),
            features_of_shape(&[7, 7, 3, 64]),
        );
        let reads = 112 * 7 - (3 + 1) - 2;
        let flops = Some(2 * 64 * 3 * reads * reads);
        assert_eq!(flop_count(CONVOLUTION, &first, &[input, kernel]), flops);
        assert_eq!(flop_count(CONVOLUTION, &first, &[kernel, input]), flops);
        assert_eq!(flop_count(CONVOLUTION, &first, &[input, input]), None);
        // Its input gradient reads between the elements of its input: as many pairs as above.
        let back = convolution_features(&[1, 224, 224, 3], 7, 1, 3, 2);
        let (input, kernel) = (
            features_of_shape(&[1, 112, 112, 64]),
            features_of_shape(&[7, 7, 64, 3]),
        );
        assert_eq!(flop_count(CONVOLUTION, &back, &[input, kernel]), flops);
    }

    #[test]
    fn reads_of_a_window_are_those_counted_one_by_one() {
        let mut compared = 0;
        for case in 0..20_000_i64 {
            // Digits of a multiplied case number, as a cheap pseudo-random choice.
            let digit =
                |position: u32, base: i64| (case * 7_919 + 13) / 11_i64.pow(position) % base;
            let window = Window {
                size: 1 + digit(0, 7),
                stride: 1 + digit(1, 4),
                padding_low: digit(2, 9) - 3,
                dilation: 1 + digit(3, 3),
                base_dilation: 1 + digit(4, 6),
            };
            let (input_size, output_size) = (1 + digit(5, 5), 1 + case % 9);
            let end = (input_size - 1) * window.base_dilation + 1;
            let mut reads = 0;
            for position in 0..output_size {
                for step in 0..window.size {
                    let offset =
                        position * window.stride - window.padding_low + step * window.dilation;
                    let is_read = (0..end).contains(&offset) && offset % window.base_dilation == 0;
                    reads += i64::from(is_read);
                }
            }
            assert_eq!(
                window.count_reads(input_size, output_size),
                Some(reads),
                "case {case}"
            );
            compared += i64::from(reads > 0);
        }
        assert!(compared > 10_000, "{compared}");
    }

    #[test]
    fn impossible_sizes_are_rejected_at_once() {
        let window = |size| Window {
            size,
            stride: 1,
            padding_low: 0,
            dilation: 1,
            base_dilation: 1,
        };
        assert_eq!(window(i64::MAX).count_reads(i64::MAX, i64::MAX), None);
        assert_eq!(window(3).count_reads(i64::MAX, i64::MAX), None);
        assert_eq!(window(1).count_reads(i64::MAX, 5), Some(5));
        assert_eq!(window(i64::MAX).count_reads(7, 5), Some(7 + 6 + 5 + 4 + 3));
    }

    #[test]
    fn bytes_are_those_of_the_type() {
        assert_eq!(byte_count(&features_of_shape(&[2, 3])), Some(24));
        assert_eq!(byte_count(&features_of_shape(&[])), Some(4));
        let mut tuple = features_of_shape(&[]);
        (tuple[13], tuple[18]) = (0, 1);
        assert_eq!(byte_count(&tuple), None);
    }
}
