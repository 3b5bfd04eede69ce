//! Named numbers of a record, packed into columns.

use std::fmt::Write as _;

use tsql_codecs::number::{Decimal, Spelling};

/// Maximum integer up to which all are exact as doubles.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Kind of a number in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Digits only.
    Integer,
    /// Another finite number.
    Float,
    /// NaN or infinite.
    NonFinite,
}

impl NumberKind {
    fn letter(self) -> char {
        match self {
            Self::Integer => 'i',
            Self::Float => 'f',
            Self::NonFinite => 'n',
        }
    }

    fn from_letter(letter: &str) -> Option<Self> {
        [Self::Integer, Self::Float, Self::NonFinite]
            .into_iter()
            .find(|kind| letter.len() == 1 && letter.starts_with(kind.letter()))
    }
}

/// A named number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedNumber<'a> {
    /// Canonical name, or the name in the source.
    pub name: &'a str,
    /// Name in the source.
    pub raw_name: &'a str,
    /// Unit in the source.
    pub unit: &'a str,
    /// Kind in the source.
    pub kind: NumberKind,
    /// Value in the unit of the source.
    pub value: f64,
    /// Text in the source.
    pub text: &'a str,
}

/// Named numbers of a record in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackedMetrics {
    /// A line for each: canonical name, name, unit and kind (`i`, `f`, `n`) in the source, separated by tabs. Records of
    /// a source have few different layouts.
    pub layout: String,
    /// The numbers in the units of the source.
    pub values: Vec<f64>,
    /// A line for each number whose text does not follow from its double and kind: index and text, separated by a tab.
    pub texts: Option<String>,
}

/// A number of [`PackedMetrics`], with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct UnpackedNumber<'a> {
    /// Name in the source.
    pub raw_name: &'a str,
    /// Unit in the source.
    pub unit: &'a str,
    /// Text in the source.
    pub text: String,
}

impl PackedMetrics {
    /// Appends a number. Tabs and line feeds in its texts become blanks.
    pub fn push(&mut self, number: &NamedNumber<'_>) {
        let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        let index = self.values.len();
        let line = if index == 0 { "" } else { "\n" };
        let (name, raw_name) = (plain(number.name), plain(number.raw_name));
        let (unit, kind) = (plain(number.unit), number.kind.letter());
        // Writing to a string cannot fail.
        let _ = write!(self.layout, "{line}{name}\t{raw_name}\t{unit}\t{kind}");
        self.values.push(number.value);
        if spelled(number.kind, number.value).as_deref() != Some(number.text) {
            let texts = self.texts.get_or_insert_default();
            let line = if texts.is_empty() { "" } else { "\n" };
            let _ = write!(texts, "{line}{index}\t{}", plain(number.text));
        }
    }

    /// Returns the numbers with their texts. `None` if the columns do not belong together.
    #[must_use]
    pub fn unpack(&self) -> Option<Vec<UnpackedNumber<'_>>> {
        let texts = self.texts.as_deref().unwrap_or_default();
        let texts = texts.lines().map(|line| {
            let (index, text) = line.split_once('\t')?;
            Some((index.parse::<usize>().ok()?, text))
        });
        let texts = texts.collect::<Option<Vec<_>>>()?;
        let mut numbers = Vec::with_capacity(self.values.len());
        for (index, line) in self.layout.lines().enumerate() {
            let [_, raw_name, unit, kind] = split_cells(line)?;
            let value = *self.values.get(index)?;
            let own = texts.iter().find(|(place, _)| *place == index);
            let text = match own {
                Some((_, text)) => (*text).to_owned(),
                None => spelled(NumberKind::from_letter(kind)?, value)?,
            };
            numbers.push(UnpackedNumber {
                raw_name,
                unit,
                text,
            });
        }
        (numbers.len() == self.values.len()).then_some(numbers)
    }
}

/// Cells of a line of the layout.
fn split_cells(line: &str) -> Option<[&str; 4]> {
    let mut cells = line.split('\t');
    let found = [cells.next()?, cells.next()?, cells.next()?, cells.next()?];
    cells.next().is_none().then_some(found)
}

/// Text of a number as Python writes it.
fn spelled(kind: NumberKind, value: f64) -> Option<String> {
    match kind {
        // Larger integers are not exact.
        NumberKind::Integer if value.abs() > MAX_EXACT => None,
        NumberKind::Integer => {
            #[expect(clippy::cast_possible_truncation, reason = "compared with the text")]
            let whole = value as i64;
            Some(whole.to_string())
        }
        NumberKind::Float => {
            let mut text = Vec::new();
            let decimal = Decimal::from_f64(value)?;
            let is_written = decimal.write(Spelling::Shortest, &mut text);
            String::from_utf8(text).ok().filter(|_| is_written)
        }
        NumberKind::NonFinite => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_texts() {
        let mut packed = PackedMetrics::default();
        let texts = [
            "3",
            "0.5",
            "0.50",
            "1e-3",
            "NaN",
            "9007199254740993",
            "-0.0",
        ];
        for text in texts {
            let value: f64 = text.parse().unwrap();
            let kind = match text {
                "NaN" => NumberKind::NonFinite,
                text if text.bytes().all(|byte| byte.is_ascii_digit()) => NumberKind::Integer,
                _ => NumberKind::Float,
            };
            packed.push(&NamedNumber {
                name: "energy",
                raw_name: "e",
                unit: "J",
                kind,
                value,
                text,
            });
        }
        let unpacked = packed.unpack().unwrap();
        let found: Vec<&str> = unpacked.iter().map(|number| number.text.as_str()).collect();
        assert_eq!(found, texts);
        packed.values.pop();
        assert_eq!(packed.unpack(), None);
    }
}
