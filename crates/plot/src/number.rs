//! Conversions between counts and floating-point numbers.

/// Converts a count to a number.
pub(crate) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Rounds a number to a count; 0 for negative numbers and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "stops at the ends of the range"
)]
pub(crate) fn round_to_count(number: f64) -> usize {
    number.max(0.0).round() as usize
}
