//! Statistics of a data file as stored in the log.
//!
//! A table of many small files has as many statistics in memory, so they must be small: the files of a table share
//! their column names.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Statistics of a file in Delta's JSON form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Number of rows.
    pub num_records: u64,
    /// Minimum of each column.
    #[serde(default)]
    pub min_values: Values,
    /// Maximum of each column.
    #[serde(default)]
    pub max_values: Values,
    /// Number of NULLs of each column.
    #[serde(default)]
    pub null_count: Values,
}

impl Stats {
    /// Parses the JSON form. Fractional numbers are kept as text: serde_json rounds the last digit of some, and a
    /// maximum that is too small would lose rows.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(&quote_fractions(text))
    }

    /// Returns the same statistics, sharing the column names with another file's where they are equal.
    pub fn with_names_of(mut self, other: &Self) -> Self {
        self.min_values.share_names(&other.min_values);
        self.max_values.share_names(&other.max_values);
        self.null_count.share_names(&other.null_count);
        self
    }
}

/// Values of some columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Sorted and unique.
    names: Arc<[Box<str>]>,
    values: Box<[StatValue]>,
}

/// A value as stored in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum StatValue {
    /// An integer.
    Integer(i64),
    /// Text, also for times and fractional numbers.
    Text(Box<str>),
    /// A type that no column of tsql has. Other writers may use it.
    Other(Box<Value>),
}

impl Values {
    /// Returns the value of a column.
    pub fn get(&self, name: &str) -> Option<&StatValue> {
        let place = self.names.binary_search_by(|known| (**known).cmp(name));
        self.values.get(place.ok()?)
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Iterates over all values, by column name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &StatValue)> {
        self.names.iter().map(AsRef::as_ref).zip(&self.values)
    }

    fn share_names(&mut self, other: &Self) {
        if self.names == other.names {
            self.names = Arc::clone(&other.names);
        }
    }
}

impl FromIterator<(String, StatValue)> for Values {
    fn from_iter<I: IntoIterator<Item = (String, StatValue)>>(values: I) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        // The last of duplicate names counts.
        if !values.is_sorted_by(|a, b| a.0 < b.0) {
            values = BTreeMap::from_iter(values).into_iter().collect();
        }
        let (names, values): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        let names = names.into_iter().map(String::into_boxed_str);
        Self {
            names: names.collect(),
            values: values.into(),
        }
    }
}

impl StatValue {
    /// Returns the integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Text(_) | Self::Other(_) => None,
        }
    }

    /// Returns the integer, if it is one that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i64()?.try_into().ok()
    }

    /// Returns the text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Integer(_) | Self::Other(_) => None,
        }
    }

    /// Returns the number, with or without a fraction.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the nearest one, as of its text"
            )]
            Self::Integer(number) => Some(*number as f64),
            Self::Text(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                text.parse().ok()
            }
            Self::Text(_) => None,
            Self::Other(value) => value.as_f64(),
        }
    }
}

impl From<Value> for StatValue {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.into()),
            value => match value.as_i64() {
                Some(number) => Self::Integer(number),
                None => Self::Other(Box::new(value)),
            },
        }
    }
}

impl fmt::Display for StatValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
            Self::Other(value) => value.fmt(formatter),
        }
    }
}

impl Serialize for StatValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValuesVisitor;

        impl<'de> Visitor<'de> for ValuesVisitor {
            type Value = Values;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value of each column")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Values, M::Error> {
                let entry = || map.next_entry::<String, Value>().transpose();
                let values = std::iter::from_fn(entry);
                values
                    .map(|entry| entry.map(|(name, value)| (name, StatValue::from(value))))
                    .collect()
            }
        }

        deserializer.deserialize_map(ValuesVisitor)
    }
}

/// Returns the JSON text with quotes around all non-integer numbers.
fn quote_fractions(text: &str) -> String {
    let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let mut quoted = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| matches!(letter, '"' | '-' | '0'..='9')) {
        let (before, from) = rest.split_at(start);
        quoted.push_str(before);
        let is_text = from.starts_with('"');
        let length = if is_text {
            string_end(from.as_bytes())
        } else {
            from.bytes().take_while(|byte| is_of_number(byte)).count()
        };
        let (token, after) = from.split_at(length);
        if !is_text && token.contains(['.', 'e', 'E']) {
            quoted.extend(["\"", token, "\""]);
        } else {
            quoted.push_str(token);
        }
        rest = after;
    }
    quoted + rest
}

/// Returns the length of a JSON string up to its closing quote.
fn string_end(bytes: &[u8]) -> usize {
    let mut escaped = false;
    let inside = bytes.iter().skip(1).take_while(|byte| {
        let goes_on = escaped || **byte != b'"';
        escaped = !escaped && **byte == b'\\';
        goes_on
    });
    bytes.len().min(inside.count() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_in_statistics_are_exact() {
        let text = r#"{"numRecords":3,"minValues":{"a":-1.5e-7,"b":"1.5 \"2.5","c":-7},"maxValues":{"a":9007199254740991.0}}"#;
        let stats = Stats::parse(text).unwrap();
        assert_eq!(stats.num_records, 3);
        assert_eq!(
            stats.min_values.get("a"),
            Some(&StatValue::from(Value::from("-1.5e-7")))
        );
        assert_eq!(
            stats.min_values.get("b"),
            Some(&StatValue::from(Value::from("1.5 \"2.5")))
        );
        assert_eq!(
            stats.min_values.get("c"),
            Some(&StatValue::from(Value::from(-7)))
        );
        assert_eq!(
            stats.max_values.get("a"),
            Some(&StatValue::from(Value::from("9007199254740991.0")))
        );
    }

    #[test]
    fn names_are_shared_where_they_are_the_same() {
        let parse = |text| Stats::parse(text).unwrap();
        let one = parse(r#"{"numRecords":1,"minValues":{"b":1,"a":"x"}}"#);
        let two = parse(r#"{"numRecords":2,"minValues":{"a":"y","b":2.5}}"#).with_names_of(&one);
        assert!(Arc::ptr_eq(&one.min_values.names, &two.min_values.names));
        let (a, b) = (two.min_values.get("a"), two.min_values.get("b"));
        assert_eq!(a.and_then(StatValue::as_str), Some("y"));
        assert_eq!(b.and_then(StatValue::as_f64), Some(2.5));
        assert_eq!(two.min_values.get("c"), None);
        let other = parse(r#"{"numRecords":3,"minValues":{"a":1,"c":2}}"#).with_names_of(&one);
        assert_eq!(
            other.min_values.get("c").and_then(StatValue::as_i64),
            Some(2)
        );
        // The last of duplicate names counts.
        let twice = parse(r#"{"numRecords":3,"minValues":{"b":1,"a":1,"a":2}}"#);
        assert_eq!(
            twice.min_values.get("a").and_then(StatValue::as_i64),
            Some(2)
        );
        assert_eq!(twice.min_values.len(), 2);
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(Stats::parse(&text).unwrap(), one);
    }
}
