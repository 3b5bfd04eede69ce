//! Table of rows from which a chart is drawn.

use std::collections::HashMap;

/// Placeholder of a missing name.
pub(crate) const NO_NAME: &str = "(none)";

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in the result.
    pub name: String,
    /// Unit of the numbers, if known: `ns`, `bytes`, `percent`, ...
    pub unit: Option<String>,
    /// Values.
    pub values: ColumnValues,
}

/// Values of a column, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Numbers; NaN if missing.
    Numbers(Vec<f64>),
    /// Seconds since 1970, in UTC; NaN if missing.
    Times(Vec<f64>),
    /// Names.
    Words(Categories),
}

/// Dictionary-encoded names, in order of first occurrence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Categories {
    names: Vec<String>,
    places: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Categories {
    /// Returns the code of a name; adds new names.
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

    /// Appends a row.
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

impl<'a> FromIterator<Option<&'a str>> for Categories {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(names: I) -> Self {
        let mut words = Self::default();
        names.into_iter().for_each(|name| words.push(name));
        words
    }
}

impl ColumnValues {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) | Self::Times(values) => values.len(),
            Self::Words(words) => words.codes.len(),
        }
    }

    /// Returns whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value of a row as a number: the code for names.
    pub(crate) fn number_at(&self, row: usize) -> f64 {
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

    /// Sets the number or name code of a row.
    pub(crate) fn set(&mut self, row: usize, value: f64) {
        match self {
            Self::Numbers(values) | Self::Times(values) => {
                if let Some(at) = values.get_mut(row) {
                    *at = value;
                }
            }
            Self::Words(_) => {}
        }
    }

    /// Keeps the rows whose flag in `kept` is true.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        let mut rows = kept.iter();
        let mut is_kept = move || rows.next().copied().unwrap_or(false);
        match self {
            Self::Numbers(values) | Self::Times(values) => values.retain(|_| is_kept()),
            Self::Words(words) => words.codes.retain(|_| is_kept()),
        }
    }

    /// Converts the values to names.
    pub(crate) fn to_categories(&self) -> Categories {
        match self {
            Self::Words(words) => words.clone(),
            Self::Times(values) => {
                let texts = values.iter().map(|value| super::axis::format_time(*value));
                let texts: Vec<String> = texts.collect();
                texts.iter().map(|text| Some(text.as_str())).collect()
            }
            Self::Numbers(values) => {
                let texts = values.iter().map(|value| match value.is_nan() {
                    true => NO_NAME.to_owned(),
                    false => super::axis::format_number(*value),
                });
                let texts: Vec<String> = texts.collect();
                texts.iter().map(|text| Some(text.as_str())).collect()
            }
        }
    }
}

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotTable {
    /// Columns.
    pub columns: Vec<Column>,
    /// Number of result rows that each row represents; empty if each represents one.
    pub weights: Vec<f64>,
    /// Notes on the rows, for instance that they are a sample.
    pub notes: Vec<String>,
}

impl PlotTable {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }
}
