//! Values of configurations and settings with the exact text of their numbers.

use std::fmt::Write as _;

/// A number with its text in the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    text: Box<str>,
    value: f64,
}

impl Number {
    /// Parses a decimal number, `NaN`, `inf`, `Infinity` or their negatives. Returns `None` for other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = text.trim().parse().ok()?;
        Some(Self {
            text: text.trim().into(),
            value,
        })
    }

    /// Text in the source.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Nearest double.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Returns whether the source wrote an integer: no point, no exponent, finite.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        let digits = self.text.strip_prefix(['-', '+']).unwrap_or(&self.text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// A value as the source states it. Values of different types are different: `1`, `1.0`, `true` and `"1"`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null` of JSON, `None` of Python.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number with its text.
    Number(Number),
    /// Text.
    Text(String),
    /// A list, or a tuple of Python.
    List(Vec<Value>),
    /// An object in the order of the source.
    Object(Fields),
}

/// Names and values in the order of the source. A name may occur twice.
pub type Fields = Vec<(String, Value)>;

impl Value {
    /// Builds a text value.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Builds a number, or text if `text` is no finite number in decimal digits.
    #[must_use]
    pub fn from_cell(text: &str) -> Self {
        match Number::parse(text) {
            Some(number) if number.value.is_finite() && number.text() == text => {
                Self::Number(number)
            }
            _ => Self::text(text),
        }
    }

    /// Text of a text value.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Number of a number value.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Elements of a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Fields of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Fields> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// First value of this name in an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        get(self.as_object()?, name)
    }

    /// Returns the value as JSON with the separators of Python (`, ` and `: `). Numbers keep their text, so `NaN` and
    /// `Infinity` are written as Python writes them.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number.text()),
            Self::Text(text) => write_string(text, out),
            Self::List(list) => {
                out.push('[');
                for (index, value) in list.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    value.write_json(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    write_string(name, out);
                    out.push_str(": ");
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

/// First value of a name.
#[must_use]
pub(crate) fn get<'a>(fields: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    fields
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
