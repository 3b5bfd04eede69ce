//! Kinds of facts about platforms, and their values as text with units.

use serde::Serialize;
use tsql_error::{Error, Result};

/// Maximum length of a text in characters.
const LONGEST: usize = 1000;

/// Decimal prefixes of units, with their powers of ten.
const PREFIXES: [(&str, u32); 6] = [("k", 3), ("K", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15)];

/// Binary prefixes of bytes, with their factors.
const BINARY_PREFIXES: [(&str, f64); 5] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
];

/// All facts, in the order of the columns of the view `platforms`.
pub const FACTS: [Fact; 9] = [
    Fact::new("vendor", FactKind::Text),
    Fact::new("device", FactKind::Text),
    Fact::new("cores", FactKind::Count),
    Fact::new("clock_hz", FactKind::Clock),
    Fact::new("isa", FactKind::Text),
    Fact::new("memory_bytes", FactKind::Size),
    Fact::new("bandwidth_bytes_per_s", FactKind::Bandwidth),
    Fact::new("peak_flop_per_s", FactKind::Performance),
    Fact::new("instance", FactKind::Text),
];

/// A fact that a platform can have: a column of the view `platforms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Name of the column. It ends in the unit of the numbers.
    pub name: &'static str,
    kind: FactKind,
}

/// Kind of the values of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FactKind {
    Text,
    Count,
    Clock,
    Size,
    Bandwidth,
    Performance,
}

/// Value of a fact.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FactValue {
    /// Text, without spaces at its ends.
    Text(String),
    /// Number in the unit of the fact: finite, above 0.
    Number(f64),
}

impl Fact {
    const fn new(name: &'static str, kind: FactKind) -> Self {
        Self { name, kind }
    }

    /// Finds a fact by its name.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is none.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = FACTS.into_iter().find(|fact| fact.name == name);
        found.ok_or_else(|| Error::Unknown {
            kind: "fact",
            name: name.to_owned(),
            known: FACTS.map(|fact| fact.name).join(", "),
        })
    }

    /// Parses a value: a text, or a number that may have a unit, such as `2.5GHz`, `40GiB` or `19.5TFLOP/s`. A number
    /// without a unit is in the unit of the fact.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty or too long text, and for a number that is not above 0.
    pub fn parse_value(self, text: &str) -> Result<FactValue> {
        if self.kind == FactKind::Text {
            return checked_text(self.name, text).map(FactValue::Text);
        }
        let number = parse_quantity(text.trim(), self.kind.units(), self.kind.has_bytes());
        let is_whole = |number: &f64| self.kind != FactKind::Count || number.fract() == 0.0;
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        let Some(number) = number.filter(is_whole) else {
            return Err(Error::Argument {
                name: self.name,
                reason: format!(
                    "`{text}` is not a value of {}, expected {}",
                    self.name,
                    self.kind.expected()
                ),
            });
        };
        Ok(FactValue::Number(number))
    }
}

impl FactKind {
    /// Units that a value may have.
    fn units(self) -> &'static [&'static str] {
        match self {
            Self::Text | Self::Count => &[],
            Self::Clock => &["Hz"],
            Self::Size => &["B", "bytes"],
            Self::Bandwidth => &["B/s", "bytes/s"],
            Self::Performance => &["FLOP/s", "FLOPS", "FLOPs", "flops"],
        }
    }

    fn has_bytes(self) -> bool {
        matches!(self, Self::Size | Self::Bandwidth)
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Count => "a whole number above 0",
            Self::Clock => "a number above 0 such as 2.5GHz or 2.5e9",
            Self::Size => "a number above 0 such as 40GB, 40GiB or 4e10",
            Self::Bandwidth => "a number above 0 such as 1555GB/s or 1.555e12",
            Self::Performance => "a number above 0 such as 19.5TFLOP/s or 1.95e13",
        }
    }
}

/// Removes spaces at the ends of a text, and checks its length.
///
/// # Errors
/// [`Error::Argument`] for an empty text, one that is too long, and one with control characters.
pub(super) fn checked_text(name: &'static str, text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST || text.contains(char::is_control) {
        let reason =
            format!("{name} needs one line of at most {LONGEST} characters, found {text:?}");
        return Err(Error::Argument { name, reason });
    }
    Ok(text.to_owned())
}

/// Parses a number with an optional prefix and unit. A prefix without a unit is valid: `19.5T`.
fn parse_quantity(text: &str, units: &[&str], has_bytes: bool) -> Option<f64> {
    let number = units.iter().find_map(|unit| text.strip_suffix(unit));
    let number = number.unwrap_or(text).trim_end();
    let mut binary = BINARY_PREFIXES.iter().filter(|_| has_bytes);
    let binary =
        binary.find_map(|(prefix, factor)| Some((number.strip_suffix(prefix)?.trim_end(), factor)));
    if let Some((number, factor)) = binary {
        return Some(number.parse::<f64>().ok()? * factor);
    }
    let mut decimal = PREFIXES.iter().filter(|_| !units.is_empty());
    let decimal =
        decimal.find_map(|(prefix, power)| Some((number.strip_suffix(prefix)?.trim_end(), power)));
    match decimal {
        // A product would round again: 4.1 * 1e12 is not 4.1e12.
        Some((number, power)) => format!("{number}e{power}").parse().ok(),
        None => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(fact: &str, text: &str) -> Option<f64> {
        match Fact::from_name(fact).unwrap().parse_value(text) {
            Ok(FactValue::Number(number)) => Some(number),
            Ok(FactValue::Text(text)) => panic!("{text}"),
            Err(_) => None,
        }
    }

    #[test]
    fn numbers_have_prefixes_and_units() {
        for (fact, text, wanted) in [
            ("cores", "108", 108.0),
            ("clock_hz", "2.5GHz", 2.5e9),
            ("clock_hz", " 1410 MHz ", 1.41e9),
            ("clock_hz", "2.5e9", 2.5e9),
            ("clock_hz", "2.5G", 2.5e9),
            ("memory_bytes", "40GB", 40e9),
            ("memory_bytes", "40GiB", 42_949_672_960.0),
            ("bandwidth_bytes_per_s", "1555GB/s", 1.555e12),
            ("bandwidth_bytes_per_s", "1 TiB/s", 1_099_511_627_776.0),
            ("peak_flop_per_s", "19.5TFLOP/s", 19.5e12),
            ("peak_flop_per_s", "19.5 TFLOPS", 19.5e12),
            ("peak_flop_per_s", "4.1 TFLOP/s", 4.1e12),
            ("peak_flop_per_s", "1PFLOPs", 1e15),
        ] {
            let found = number(fact, text).unwrap();
            assert_eq!(found.to_bits(), f64::to_bits(wanted), "{text}: {found}");
        }
    }

    #[test]
    fn other_numbers_are_rejected() {
        for (fact, text) in [
            ("cores", "2.5"),
            ("cores", "-4"),
            ("cores", "4k"),
            ("clock_hz", "0"),
            ("clock_hz", "-1GHz"),
            ("clock_hz", "nan"),
            ("clock_hz", "inf"),
            ("clock_hz", "fast"),
            ("clock_hz", "2.5GB"),
            // Bits are not bytes.
            ("bandwidth_bytes_per_s", "900Gb/s"),
            ("peak_flop_per_s", "19.5TiFLOPS"),
        ] {
            assert_eq!(number(fact, text), None, "{fact} {text}");
        }
        let error = Fact::from_name("clock_hz").unwrap().parse_value("-1GHz");
        assert_eq!(
            error.unwrap_err().to_string(),
            "`-1GHz` is not a value of clock_hz, expected a number above 0 such as 2.5GHz or 2.5e9"
        );
    }

    #[test]
    fn facts_are_the_columns_of_the_view() {
        let view = tsql_schema::relation("platforms").unwrap();
        let columns = view.columns.iter().map(|column| column.name.as_str());
        let facts = FACTS.iter().map(|fact| fact.name);
        let wanted = ["platform"].into_iter().chain(facts);
        assert!(columns.eq(wanted.chain(["fact_sources"])));
        let unknown = Fact::from_name("core").unwrap_err().to_string();
        assert!(unknown.contains("did you mean `cores`?"), "{unknown}");
    }
}
