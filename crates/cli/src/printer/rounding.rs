//! Floats with fewer digits, for narrow screens.

use std::borrow::Cow;

/// Number of digits of a rounded float.
const DIGITS: i32 = 7;

/// Returns a float with seven significant digits, all digits before the point, and at least one after it.
///
/// A text that would not become shorter, or that is not a number, is unchanged.
pub(super) fn round_float(text: &str) -> Cow<'_, str> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            let rounded = rounded(value, text.contains('e'));
            let rounded = rounded.filter(|rounded| rounded.len() < text.len());
            rounded.map_or(Cow::Borrowed(text), Cow::Owned)
        }
        _ => Cow::Borrowed(text),
    }
}

fn rounded(value: f64, is_scientific: bool) -> Option<String> {
    let scientific = format!("{value:.6e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    if is_scientific {
        return Some(format!("{}e{exponent}", trim_zeros(mantissa)));
    }
    let after_point = DIGITS - 1 - exponent.parse::<i32>().ok()?;
    let after_point = usize::try_from(after_point.max(1)).ok()?;
    Some(trim_zeros(&format!("{value:.after_point$}")).to_owned())
}

/// Removes the zeros at the end, except for the first digit after the point.
fn trim_zeros(text: &str) -> &str {
    let trimmed = text.trim_end_matches('0');
    match trimmed.ends_with('.') {
        true => text.get(..=trimmed.len()).unwrap_or(text),
        false => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_seven_digits_and_all_before_the_point() {
        for (text, wanted) in [
            ("1026513.3333333334", "1026513.3"),
            ("0.008603040300485643", "0.00860304"),
            ("-342171.1111111111", "-342171.1"),
            ("0.3333333333333333", "0.3333333"),
            ("0.5000000000000001", "0.5"),
            ("1.0000000000000002", "1.0"),
            ("999999.99999999", "1000000.0"),
            ("1.2345678901234e-7", "1.234568e-7"),
            ("2.0000000001e22", "2.0e22"),
        ] {
            assert_eq!(round_float(text), wanted);
        }
        for text in [
            "13671200.0",
            "1.5",
            "1e22",
            "NaN",
            "-inf",
            "NULL",
            "13.67 ms",
        ] {
            assert_eq!(round_float(text), text);
        }
    }
}
