//! Short values for tables that people read.

use arrow::array::Float64Array;

/// Maximum number of characters of a key or of steps.
const MAX_CHARS: usize = 36;

/// Cuts a long text to [`MAX_CHARS`] characters and an ellipsis.
pub(crate) fn truncate(text: &str) -> String {
    let mut characters = text.chars();
    let begin: String = characters.by_ref().take(MAX_CHARS).collect();
    if characters.next().is_none() {
        return begin;
    }
    begin + "…"
}

/// Returns a column of numbers, with four significant digits if `rounded`.
pub(crate) fn format_number(
    numbers: impl Iterator<Item = Option<f64>>,
    rounded: bool,
) -> Float64Array {
    let digits = |number: f64| format!("{number:.3e}").parse().unwrap_or(number);
    let numbers = numbers.map(|number| if rounded { number.map(digits) } else { number });
    numbers.collect()
}
