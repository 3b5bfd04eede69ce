//! The rows that a picture is drawn from.

use std::collections::HashMap;

/// What stands for a name that there is not.
pub(crate) const NO_NAME: &str = "(none)";

/// A column of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the answer.
    pub name: String,
    /// What its numbers are measured in, where that is known: `ns`, `bytes`, `percent`, ...
    pub unit: Option<String>,
    /// Its values.
    pub values: Values,
}

/// The values of a column, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN where there is none.
    Numbers(Vec<f64>),
    /// Seconds since 1970, in UTC; NaN where there is none.
    Times(Vec<f64>),
    /// Names.
    Words(Words),
}

/// Names by their numbers, in the order in which they were first met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    names: Vec<String>,
    places: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Words {
    /// The number of a name, which is given one where it is new.
    pub fn code(&mut self, name: Option<&str>) -> u32 {
        let name = name.unwrap_or(NO_NAME);
        if let Some(code) = self.places.get(name) {
            return *code;
        }
        let code = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), code);
        code
    }

    /// One row more.
    pub fn push(&mut self, name: Option<&str>) {
        let code = self.code(name);
        self.codes.push(code);
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn codes(&self) -> &[u32] {
        &self.codes
    }
}

impl<'a> FromIterator<Option<&'a str>> for Words {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(names: I) -> Self {
        let mut words = Self::default();
        names.into_iter().for_each(|name| words.push(name));
        words
    }
}

impl Values {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) | Self::Times(values) => values.len(),
            Self::Words(words) => words.codes.len(),
        }
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row as a number: names by their place.
    pub(crate) fn at(&self, row: usize) -> f64 {
        match self {
            Self::Numbers(values) | Self::Times(values) => {
                values.get(row).copied().unwrap_or(f64::NAN)
            }
            Self::Words(words) => words
                .codes
                .get(row)
                .map_or(f64::NAN, |code| f64::from(*code)),
        }
    }

    /// Puts a number or the code of a name into a row.
    pub(crate) fn put(&mut self, row: usize, value: f64) {
        match self {
            Self::Numbers(values) | Self::Times(values) => {
                if let Some(at) = values.get_mut(row) {
                    *at = value;
                }
            }
            Self::Words(_) => {}
        }
    }

    /// Leaves the rows of which `kept` says so.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        let mut rows = kept.iter();
        let mut is_kept = move || rows.next().copied().unwrap_or(false);
        match self {
            Self::Numbers(values) | Self::Times(values) => values.retain(|_| is_kept()),
            Self::Words(words) => words.codes.retain(|_| is_kept()),
        }
    }

    /// As names, which numbers become, too.
    pub(crate) fn named(&self) -> Words {
        match self {
            Self::Words(words) => words.clone(),
            Self::Times(values) => {
                let texts = values.iter().map(|value| super::axis::moment(*value));
                let texts: Vec<String> = texts.collect();
                texts.iter().map(|text| Some(text.as_str())).collect()
            }
            Self::Numbers(values) => {
                let texts = values.iter().map(|value| match value.is_nan() {
                    true => NO_NAME.to_owned(),
                    false => super::axis::plain(*value),
                });
                let texts: Vec<String> = texts.collect();
                texts.iter().map(|text| Some(text.as_str())).collect()
            }
        }
    }
}

/// Columns of as many rows each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// How many rows of the answer each row stands for; one where this is empty.
    pub weights: Vec<f64>,
    /// What is to be said of the rows: that they are a sample, say.
    pub notes: Vec<String>,
}

impl Table {
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }
}
