//! Tensor elements: Python literals as integers, and back.

/// Maximum number of decimal places of an element that is stored as a number.
const MAX_SCALE: u8 = 15;

/// The elements of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TensorData {
    /// Not in the source.
    #[default]
    Absent,
    /// `None` in the source: too many elements to list.
    Unlisted,
    /// `True` and `False`.
    Booleans(Vec<bool>),
    /// Scaled integers, each stored as twice the magnitude, plus 1 for a minus sign.
    Numbers {
        /// Number format.
        form: NumberFormat,
        /// One code per element.
        codes: Vec<u64>,
    },
    /// Any other elements, as text.
    Other(String),
}

/// Text format of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// Without a decimal point.
    Integer,
    /// With this many decimal places: `0.100000`.
    Fixed(u8),
    /// Like Python's `repr` of floats, with at most this many decimal places.
    Shortest(u8),
}

impl NumberFormat {
    /// Decimal places of a code.
    fn scale(self) -> u8 {
        match self {
            Self::Integer => 0,
            Self::Fixed(scale) | Self::Shortest(scale) => scale,
        }
    }

    /// Tag in the packed form.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Integer => FIRST_FORM,
            Self::Shortest(scale) => FIRST_FORM + scale,
            Self::Fixed(scale) => FIRST_FORM + MAX_SCALE + scale,
        }
    }

    /// Returns the format with this tag.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        match number.checked_sub(FIRST_FORM)? {
            0 => Some(Self::Integer),
            scale if scale <= MAX_SCALE => Some(Self::Shortest(scale)),
            scale if scale <= 2 * MAX_SCALE => Some(Self::Fixed(scale - MAX_SCALE)),
            _ => None,
        }
    }
}

/// First tag of a number format. 0 is absent, 1 unlisted, 2 booleans, 3 other.
pub(super) const FIRST_FORM: u8 = 4;

impl TensorData {
    /// Parses element literals.
    pub fn parse(texts: &[&str]) -> Self {
        if !texts.is_empty() && texts.iter().all(|text| ["True", "False"].contains(text)) {
            return Self::Booleans(texts.iter().map(|text| *text == "True").collect());
        }
        let max_places = texts
            .iter()
            .map(|text| decimal_places(text))
            .max()
            .unwrap_or(0);
        let scale = max_places.clamp(1, MAX_SCALE);
        for form in [
            NumberFormat::Integer,
            NumberFormat::Fixed(scale),
            NumberFormat::Shortest(scale),
        ] {
            let codes: Option<Vec<u64>> =
                texts.iter().map(|text| encode_number(text, form)).collect();
            if let Some(codes) = codes {
                return Self::Numbers { form, codes };
            }
        }
        Self::Other(texts.join(", "))
    }

    /// Returns the literals.
    pub fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::Absent | Self::Unlisted => None,
            Self::Booleans(values) => {
                let text = |value: &bool| if *value { "True" } else { "False" }.to_owned();
                Some(values.iter().map(text).collect())
            }
            Self::Numbers { form, codes } => Some(
                codes
                    .iter()
                    .map(|&code| decode_number(code, *form))
                    .collect(),
            ),
            Self::Other(text) if text.is_empty() => Some(Vec::new()),
            Self::Other(text) => Some(text.split(", ").map(str::to_owned).collect()),
        }
    }

    /// Returns the elements as floats; NaN for elements that are not numbers.
    pub fn values(&self) -> Option<Vec<f64>> {
        let number = |text: &String| match text.as_str() {
            "True" => 1.0,
            "False" => 0.0,
            text => text.parse().unwrap_or(f64::NAN),
        };
        Some(self.texts()?.iter().map(number).collect())
    }
}

/// Decimal places that a float text needs.
fn decimal_places(text: &str) -> u8 {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let fraction = mantissa.split_once('.').map_or(0, |(_, after)| after.len());
    let power: i64 = power.parse().unwrap_or(0);
    let required = i64::try_from(fraction)
        .unwrap_or(i64::MAX)
        .saturating_sub(power);
    u8::try_from(required.max(0)).unwrap_or(u8::MAX)
}

/// Encodes a number text, if decoding restores it exactly.
fn encode_number(text: &str, form: NumberFormat) -> Option<u64> {
    let scale = form.scale();
    let (sign, rest) = text.strip_prefix('-').map_or((0, text), |rest| (1, rest));
    let (mantissa, power) = rest.split_once('e').unwrap_or((rest, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let power: i64 = power.parse().ok()?;
    let digits: u64 = format!("{integer}{fraction}").parse().ok()?;
    let shift = i64::from(scale) + power - i64::try_from(fraction.len()).ok()?;
    let size = if shift >= 0 {
        digits.checked_mul(10_u64.checked_pow(u32::try_from(shift).ok()?)?)?
    } else {
        let power = 10_u64.checked_pow(u32::try_from(-shift).ok()?)?;
        digits.is_multiple_of(power).then_some(digits / power)?
    };
    let code = size.checked_mul(2)?.checked_add(sign)?;
    (decode_number(code, form) == text).then_some(code)
}

/// Decodes a number to its text.
fn decode_number(code: u64, form: NumberFormat) -> String {
    let sign = if code & 1 == 1 { "-" } else { "" };
    let size = code >> 1;
    let scale = match form {
        NumberFormat::Integer => return format!("{sign}{size}"),
        NumberFormat::Fixed(scale) => {
            let digits = format!("{size:0>width$}", width = usize::from(scale) + 1);
            let point = digits.len() - usize::from(scale);
            let (integer, fraction) = digits.split_at_checked(point).unwrap_or((&digits, ""));
            return format!("{sign}{integer}.{fraction}");
        }
        NumberFormat::Shortest(scale) => scale,
    };
    if size == 0 {
        return format!("{sign}0.0");
    }
    let digits = size.to_string();
    let significant = digits.trim_end_matches('0');
    // The value is 0.significant times 10^`point`.
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let point = length(&digits) - i64::from(scale);
    if !(-3..=16).contains(&point) {
        let (first, rest) = significant.split_at_checked(1).unwrap_or((significant, ""));
        let dot = if rest.is_empty() { "" } else { "." };
        let power = point - 1;
        let mark = if power < 0 { '-' } else { '+' };
        return format!("{sign}{first}{dot}{rest}e{mark}{:02}", power.abs());
    }
    if point <= 0 {
        let zeros = "0".repeat(usize::try_from(-point).unwrap_or(0));
        return format!("{sign}0.{zeros}{significant}");
    }
    let point = usize::try_from(point).unwrap_or(0);
    match significant.split_at_checked(point) {
        Some((integer, fraction)) if !fraction.is_empty() => format!("{sign}{integer}.{fraction}"),
        _ => format!(
            "{sign}{significant}{}.0",
            "0".repeat(point.saturating_sub(significant.len()))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_come_back_as_python_writes_them() {
        for texts in [
            vec![
                "0.1",
                "-0.000123",
                "1.2e-05",
                "-0.0",
                "0.0",
                "12.0",
                "-1e-06",
            ],
            vec!["1", "-5", "0", "9223372036854775807"],
            vec!["True", "False"],
            vec!["100000.0", "1e+16", "123456.789"],
            vec!["1", "2.5"],
            vec!["nan", "1.0"],
            vec!["-0", "01"],
            vec!["1.50", "-0.00", "0.05", "120.99"],
            vec!["0.100000", "-12.000001", "1.000000"],
            vec!["1.50", "2.0"],
            vec![],
            vec!["0.0001", "0.00012", "9.9e-05", "1234567890123456.0"],
        ] {
            let data = TensorData::parse(&texts);
            assert_eq!(data.texts().unwrap(), texts, "{data:?}");
        }
        assert!(matches!(
            TensorData::parse(&["0.5", "-0.0"]),
            TensorData::Numbers {
                form: NumberFormat::Fixed(1),
                ..
            }
        ));
        let fixed = TensorData::parse(&["1.50", "-0.00", "12.25"]);
        assert!(matches!(
            fixed,
            TensorData::Numbers {
                form: NumberFormat::Fixed(2),
                ..
            }
        ));
        assert!(matches!(
            TensorData::parse(&["1.50", "2.0"]),
            TensorData::Other(_)
        ));
    }
}
