//! Percentages on the command line.

/// Parses a percentage, and returns the fraction: 0.05 for `5%` or `5`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let number = number.ok().filter(|number| (0.0..1000.0).contains(number));
    number
        .map(|number| number / 100.0)
        .ok_or_else(|| format!("`{text}` is not a percentage, expected one like 5%"))
}
