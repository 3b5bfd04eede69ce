//! Counts and numbers, one as the other.

/// A count as a number to calculate with.
pub(crate) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A number as a count, rounded; 0 for what is below it or no number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "stops at the ends of the range"
)]
pub(crate) fn whole(number: f64) -> usize {
    number.max(0.0).round() as usize
}
