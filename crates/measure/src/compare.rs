//! Compares an output buffer with that of the reference.
//!
//! Both buffers are poisoned before the call. Elements that the reference leaves poisoned are not compared.
//! Two NaNs are equal, and so are two infinities of the same sign.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::trial::{Dtype, Metric};

/// Maximum error of an output.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Tolerance {
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
    pub(crate) metric: Metric,
}

/// Error message of a wrong output (`nan: ...`), and its error if that is a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mismatch {
    pub(crate) message: String,
    pub(crate) error: Option<f64>,
}

/// Compares output `name` with that of the reference. Returns its error in the metric:
///
/// * relative L2: `|x - r|_2 / |r|_2`
/// * elementwise: the maximum of `|x - r| / (|r| + atol / rtol)`, which is at most `rtol` exactly if
///   `|x - r| <= atol + rtol * |r|`
///
/// If the divisor is 0, the error is the absolute difference.
pub(crate) fn compare(
    name: &str,
    dtype: Dtype,
    found: &[u8],
    expected: &[u8],
    tolerance: &Tolerance,
) -> Result<f64, Mismatch> {
    let wrong = |message: String, error| Err(Mismatch { message, error });
    if found.len() != expected.len() {
        let (found, expected) = (found.len(), expected.len());
        let message = format!("rel_err: `{name}` has {found} bytes, the reference {expected}");
        return wrong(message, None);
    }
    let difference = sum_errors(dtype, found, expected, tolerance);
    let elements = expected.len() / dtype.size_bytes();
    if difference.unwritten > 0 {
        let count = difference.unwritten;
        let message = format!("unwritten: {count} of {elements} elements of `{name}`");
        return wrong(message, None);
    }
    if let Some((index, found, expected)) = difference.not_finite {
        let message = format!("nan: `{name}`[{index}] is {found}, the reference has {expected}");
        return wrong(message, None);
    }
    let (error, passes) = match tolerance.metric {
        Metric::Elementwise => (difference.worst, difference.broken == 0),
        Metric::RelL2 => {
            let absolute = difference.off_squared.sqrt();
            let error = ratio(absolute, difference.reference_squared.sqrt());
            (error, error <= tolerance.rtol || absolute <= tolerance.atol)
        }
    };
    if passes {
        return Ok(error);
    }
    let message = format!(
        "rel_err={error:.3e}: `{name}` is off by more than rtol {:e}, atol {:e}",
        tolerance.rtol, tolerance.atol
    );
    wrong(message, Some(error))
}

/// Returns whether the whole output is still poison. Used for kernels without a reference.
pub(crate) fn is_untouched(dtype: Dtype, found: &[u8]) -> bool {
    let poison = dtype.poison();
    !found.is_empty() && found.chunks_exact(poison.len()).all(|cell| cell == poison)
}

/// Error sums over all elements of an output.
#[derive(Default)]
struct ErrorSums {
    /// Elements that are poison in the output but not in the reference.
    unwritten: usize,
    /// First element that is finite in only one of the two buffers: index, found, expected.
    not_finite: Option<(usize, f64, f64)>,
    off_squared: f64,
    reference_squared: f64,
    /// Largest elementwise error.
    worst: f64,
    /// Elements outside the tolerance.
    broken: usize,
}

fn sum_errors(dtype: Dtype, found: &[u8], expected: &[u8], tolerance: &Tolerance) -> ErrorSums {
    let poison = dtype.poison();
    macro_rules! scan {
        ($type:ty) => {
            accumulate_errors(found, expected, poison, tolerance, |cell| {
                f64::from(<$type>::from_ne_bytes(cell))
            })
        };
    }
    match dtype {
        Dtype::F64 => scan!(f64),
        Dtype::F32 => scan!(f32),
        Dtype::I32 => scan!(i32),
        Dtype::I16 => scan!(i16),
        Dtype::I8 => scan!(i8),
        Dtype::U8 => scan!(u8),
        Dtype::F16 => accumulate_errors(found, expected, poison, tolerance, |cell| {
            f16::from_ne_bytes(cell).to_f64()
        }),
        Dtype::Bf16 => accumulate_errors(found, expected, poison, tolerance, |cell| {
            bf16::from_ne_bytes(cell).to_f64()
        }),
        Dtype::I64 => accumulate_errors(found, expected, poison, tolerance, |cell| {
            to_f64(i64::from_ne_bytes(cell))
        }),
    }
}

fn accumulate_errors<const N: usize>(
    found: &[u8],
    expected: &[u8],
    poison: &[u8],
    tolerance: &Tolerance,
    decode: impl Fn([u8; N]) -> f64,
) -> ErrorSums {
    let mut sums = ErrorSums::default();
    let floor = match tolerance.rtol {
        rtol if rtol > 0.0 => tolerance.atol / rtol,
        _ => 0.0,
    };
    let pairs = found.as_chunks::<N>().0.iter().zip(expected.as_chunks().0);
    for (index, (found, expected)) in pairs.enumerate() {
        let value = decode(*expected);
        if value.is_finite() {
            sums.reference_squared += value * value;
        }
        // Also exact for integers above 2^53, which `f64` cannot represent.
        if found == expected || expected == poison {
            continue;
        }
        if found == poison {
            sums.unwritten += 1;
            continue;
        }
        let seen = decode(*found);
        if (seen.is_nan() && value.is_nan()) || (seen == value && value.is_infinite()) {
            continue;
        }
        let off = (seen - value).abs();
        if !off.is_finite() {
            sums.not_finite.get_or_insert((index, seen, value));
            continue;
        }
        sums.off_squared += off * off;
        sums.worst = sums.worst.max(ratio(off, value.abs() + floor));
        if off > tolerance.atol + tolerance.rtol * value.abs() {
            sums.broken += 1;
        }
    }
    sums
}

fn ratio(off: f64, reference: f64) -> f64 {
    if reference > 0.0 {
        off / reference
    } else {
        off
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "equal integers were distinguished before"
)]
fn to_f64(integer: i64) -> f64 {
    integer as f64
}

#[cfg(test)]
mod tests {
    use super::super::values;
    use super::*;

    const L2: Tolerance = Tolerance {
        rtol: 1e-4,
        atol: 1e-5,
        metric: Metric::RelL2,
    };
    const ELEMENTWISE: Tolerance = Tolerance {
        metric: Metric::Elementwise,
        ..L2
    };

    fn bytes(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect()
    }

    fn check(found: &[f32], expected: &[f32], tolerance: &Tolerance) -> Result<f64, Mismatch> {
        compare("C", Dtype::F32, &bytes(found), &bytes(expected), tolerance)
    }

    #[test]
    fn equal_outputs_have_no_error() {
        assert_eq!(check(&[1.0, -2.0], &[1.0, -2.0], &L2), Ok(0.0));
        assert_eq!(check(&[], &[], &ELEMENTWISE), Ok(0.0));
    }

    #[test]
    fn relative_l2_is_the_norm_of_the_difference_over_the_norm_of_the_reference() {
        // |(0, 1)| / |(3, 4)|
        let mismatch = check(&[3.0, 5.0], &[3.0, 4.0], &L2).unwrap_err();
        assert!((mismatch.error.unwrap() - 0.2).abs() < 1e-9);
        assert!(mismatch.message.starts_with("rel_err=2.000e-1: `C` is off"));
    }

    #[test]
    fn an_absolute_tolerance_saves_an_output_of_zeros() {
        assert!(check(&[1e-6, 0.0], &[0.0, 0.0], &L2).is_ok());
        assert!(check(&[1e-3, 0.0], &[0.0, 0.0], &L2).is_err());
    }

    #[test]
    fn one_wrong_element_among_many_passes_in_l2_and_fails_elementwise() {
        let expected = vec![1.0_f32; 100_000];
        let mut found = expected.clone();
        found[99_999] = 1.001;
        assert!(check(&found, &expected, &L2).is_ok());
        let mismatch = check(&found, &expected, &ELEMENTWISE).unwrap_err();
        assert!((mismatch.error.unwrap() - 0.001 / 1.1).abs() < 1e-6);
    }

    #[test]
    fn unwritten_elements_are_counted() {
        let mut found = bytes(&[1.0; 4]);
        values::poison(Dtype::F32, &mut found[..8]);
        let mismatch = compare("C", Dtype::F32, &found, &bytes(&[1.0; 4]), &L2).unwrap_err();
        assert_eq!(mismatch.message, "unwritten: 2 of 4 elements of `C`");
    }

    #[test]
    fn elements_that_the_reference_leaves_unwritten_are_not_compared() {
        let mut expected = bytes(&[1.0; 4]);
        values::poison(Dtype::F32, &mut expected[..8]);
        let found = bytes(&[9.0, 9.0, 1.0, 1.0]);
        assert_eq!(compare("C", Dtype::F32, &found, &expected, &L2), Ok(0.0));
    }

    #[test]
    fn nan_is_wrong_unless_the_reference_is_nan_too() {
        let mismatch = check(&[1.0, f32::NAN], &[1.0, 0.5], &L2).unwrap_err();
        assert_eq!(
            mismatch.message,
            "nan: `C`[1] is NaN, the reference has 0.5"
        );
        assert_eq!(
            check(&[f32::NAN, 1.0], &[-f32::NAN, 1.0], &ELEMENTWISE),
            Ok(0.0)
        );
        assert!(check(&[f32::INFINITY], &[f32::NEG_INFINITY], &L2).is_err());
        assert!(check(&[f32::INFINITY], &[f32::INFINITY], &L2).is_ok());
    }

    #[test]
    fn integers_beyond_float_precision_are_compared_exactly() {
        let exact = Tolerance {
            rtol: 0.0,
            atol: 0.0,
            metric: Metric::Elementwise,
        };
        let (found, expected) = (7_i32.to_ne_bytes(), 8_i32.to_ne_bytes());
        assert!(compare("C", Dtype::I32, &found, &expected, &exact).is_err());
        assert!(compare("C", Dtype::I32, &found, &found, &exact).is_ok());
    }

    #[test]
    fn half_precision_is_compared_by_value() {
        let cell = |value: f32| f16::from_f32(value).to_ne_bytes();
        let near = compare("C", Dtype::F16, &cell(1.001), &cell(1.0), &L2).unwrap_err();
        assert!((near.error.unwrap() - 0.000_976_562_5).abs() < 1e-9);
    }

    #[test]
    fn an_output_is_untouched_only_if_all_elements_are_poison() {
        let mut found = bytes(&[1.0; 4]);
        assert!(!is_untouched(Dtype::F32, &found));
        values::poison(Dtype::F32, &mut found[4..]);
        assert!(!is_untouched(Dtype::F32, &found));
        values::poison(Dtype::F32, &mut found);
        assert!(is_untouched(Dtype::F32, &found));
    }
}
