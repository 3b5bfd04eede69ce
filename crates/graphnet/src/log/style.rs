//! Number formats of a line.

use std::fmt::Write as _;

use tsql_codecs::number::{Decimal, Spelling};

/// Maximum number of decimal places.
const MAX_DECIMALS: u8 = 0x1f;

/// Number format of a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FloatStyle {
    /// `1`
    Whole,
    /// Python's `repr`: `7.450580596923828e-09`
    Shortest,
    /// `3.51715`, with this number of decimal places.
    Fixed(u8),
    /// `8.04663E-07`
    Upper(u8),
    /// `8.04663e-07`
    Lower(u8),
    /// Format of paddle's tests: `Fixed` from 1e-5 to 1e5, else `Upper`.
    Mixed(u8),
}

impl FloatStyle {
    /// Returns the possible styles of the first number after a colon or `=`.
    pub(super) fn candidates(line: &str) -> Vec<Self> {
        let number = line.split([' ', '=']).find(|word| {
            let digits = word.trim_start_matches('-');
            digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with(':')
        });
        let number = number.unwrap_or("0").trim_end_matches(',');
        let count_decimals = |mantissa: &str| {
            let decimals = mantissa.split_once('.').map_or(0, |(_, after)| after.len());
            u8::try_from(decimals).unwrap_or(u8::MAX).min(MAX_DECIMALS)
        };
        if let Some((mantissa, _)) = number.split_once('E') {
            let decimals = count_decimals(mantissa);
            return vec![Self::Upper(decimals), Self::Mixed(decimals)];
        }
        if let Some((mantissa, _)) = number.split_once('e') {
            return vec![Self::Shortest, Self::Lower(count_decimals(mantissa))];
        }
        match count_decimals(number) {
            0 => vec![Self::Whole, Self::Shortest],
            decimals if line.contains('E') => vec![Self::Mixed(decimals)],
            decimals => vec![Self::Fixed(decimals), Self::Shortest],
        }
    }

    /// Formats a number; `None` if the style cannot express it.
    pub(super) fn format_number(self, value: f64) -> Option<String> {
        if value.is_nan() {
            return Some("nan".to_owned());
        }
        if value.is_infinite() {
            return Some(if value > 0.0 { "inf" } else { "-inf" }.to_owned());
        }
        match self {
            Self::Whole => Some(format!("{value}")),
            Self::Fixed(decimals) => Some(format!("{value:.0$}", usize::from(decimals))),
            Self::Shortest => {
                let mut bytes = Vec::new();
                let is_written = Decimal::from_f64(value)?.write(Spelling::Shortest, &mut bytes);
                let mut text = String::from_utf8(bytes).ok().filter(|_| is_written)?;
                if !text.contains(['.', 'e']) {
                    text.push_str(".0");
                }
                Some(text)
            }
            Self::Upper(decimals) => scientific(value, decimals, 'E'),
            Self::Lower(decimals) => scientific(value, decimals, 'e'),
            Self::Mixed(decimals) => {
                let is_fixed = value == 0.0 || (1e-5..1e5).contains(&value.abs());
                let style = if is_fixed {
                    Self::Fixed(decimals)
                } else {
                    Self::Upper(decimals)
                };
                style.format_number(value)
            }
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::Shortest => 1,
            Self::Fixed(decimals) => 0x20 | decimals,
            Self::Upper(decimals) => 0x40 | decimals,
            Self::Lower(decimals) => 0x60 | decimals,
            Self::Mixed(decimals) => 0x80 | decimals,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        let decimals = code & MAX_DECIMALS;
        match code & !MAX_DECIMALS {
            0 if decimals == 0 => Some(Self::Whole),
            0 if decimals == 1 => Some(Self::Shortest),
            0x20 => Some(Self::Fixed(decimals)),
            0x40 => Some(Self::Upper(decimals)),
            0x60 => Some(Self::Lower(decimals)),
            0x80 => Some(Self::Mixed(decimals)),
            _ => None,
        }
    }
}

/// Formats like Python's `%.5E`: a signed exponent of at least two digits.
fn scientific(value: f64, decimals: u8, mark: char) -> Option<String> {
    let text = format!("{value:.0$e}", usize::from(decimals));
    let (mantissa, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let sign = if exponent < 0 { '-' } else { '+' };
    let mut text = mantissa.to_owned();
    write!(text, "{mark}{sign}{:02}", exponent.abs()).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (line, style) in [
            ("[Correctness][equal]: 1 0 1", FloatStyle::Whole),
            (
                "[Correctness][max_diff]: nan 7.450580596923828e-09",
                FloatStyle::Shortest,
            ),
            ("[Correctness][max_diff]: 8.04663E-07", FloatStyle::Upper(5)),
            ("Trial 12: e2e=3.50000 ms", FloatStyle::Fixed(5)),
            ("[Speedup][e2e]: 0.97755", FloatStyle::Fixed(5)),
            ("[Correctness][max_diff]: 1.5e-10", FloatStyle::Shortest),
            ("[Correctness][max_diff]: 1.50e-10", FloatStyle::Lower(2)),
            (
                "[Correctness][max_diff]: 8.91089E-06 0.00002",
                FloatStyle::Mixed(5),
            ),
            (
                "[Correctness][max_diff]: 27.17366 2.85687E+05",
                FloatStyle::Mixed(5),
            ),
        ] {
            let number = line.rsplit([' ', '=']).find(|word| *word != "ms").unwrap();
            let value: f64 = number.parse().unwrap();
            let texts: Vec<Option<String>> = FloatStyle::candidates(line)
                .iter()
                .map(|style| style.format_number(value))
                .collect();
            let index = texts
                .iter()
                .position(|text| text.as_deref() == Some(number));
            assert_eq!(
                FloatStyle::candidates(line).get(index.unwrap()),
                Some(&style),
                "{line}"
            );
            assert_eq!(FloatStyle::from_code(style.code()), Some(style));
        }
        assert_eq!(
            FloatStyle::Shortest.format_number(0.0).as_deref(),
            Some("0.0")
        );
        assert_eq!(
            FloatStyle::Whole.format_number(f64::NAN).as_deref(),
            Some("nan")
        );
        assert_eq!(FloatStyle::from_code(0xa0), None);
    }
}
