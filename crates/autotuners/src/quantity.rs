//! Times with the text and the unit of their source.

use crate::value::Number;

/// Unit of a time in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// Parses a unit: symbols, and the words of KTT and T4 (`miliseconds` is the hub's spelling).
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "s" | "sec" | "second" | "seconds" => Self::Seconds,
            "ms" | "msecond" | "milliseconds" | "miliseconds" => Self::Milliseconds,
            "us" | "usecond" | "microseconds" => Self::Microseconds,
            "ns" | "nsecond" | "nanoseconds" => Self::Nanoseconds,
            _ => return None,
        })
    }

    /// Symbol: `s`, `ms`, `us` or `ns`.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    fn exponent(self) -> i32 {
        match self {
            Self::Seconds => 0,
            Self::Milliseconds => -3,
            Self::Microseconds => -6,
            Self::Nanoseconds => -9,
        }
    }
}

/// A time of a trial. Finite and positive or zero by construction of the readers.
#[derive(Debug, Clone, PartialEq)]
pub struct Time {
    /// Number in the unit of the source.
    pub number: Number,
    /// Unit of the source.
    pub unit: TimeUnit,
}

impl Time {
    /// Builds a time. Returns `None` unless the number is finite and not negative.
    #[must_use]
    pub fn new(number: Number, unit: TimeUnit) -> Option<Self> {
        let valid = number.value().is_finite() && number.value() >= 0.0;
        valid.then_some(Self { number, unit })
    }

    /// Time in seconds: the double nearest to the decimal text shifted by the unit.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        shift(self.number.text(), self.unit.exponent())
    }

    /// Time in nanoseconds: the double nearest to the decimal text shifted by the unit.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        shift(self.number.text(), self.unit.exponent() + 9)
    }
}

/// Shifts the decimal exponent of a number's text, so that only one rounding happens.
fn shift(text: &str, by: i32) -> f64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0).saturating_add(by);
    format!("{mantissa}e{exponent}").parse().unwrap_or(f64::NAN)
}
