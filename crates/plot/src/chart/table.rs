//! Table of rows from which a chart is drawn.

use std::collections::HashMap;

use super::colour_order::{NO_NAME, compare_names};

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
    codes_by_name: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Categories {
    /// Returns the code of a name; adds new names.
    pub fn code(&mut self, name: Option<&str>) -> u32 {
        let name = name.unwrap_or(NO_NAME);
        if let Some(code) = self.codes_by_name.get(name) {
            return *code;
        }
        let code = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.codes_by_name.insert(name.to_owned(), code);
        code
    }

    /// Appends a row.
    pub fn push(&mut self, name: Option<&str>) {
        let code = self.code(name);
        self.codes.push(code);
    }

    /// Sorts the names of numbers in ascending order.
    pub(crate) fn sorted_if(self, is_numeric: bool) -> Self {
        if !is_numeric {
            return self;
        }
        let mut names = self.names.clone();
        names.sort_by(|left, right| compare_names(left, right));
        let mut sorted = Self::default();
        for name in &names {
            sorted.code(Some(name));
        }
        for code in &self.codes {
            sorted.push(self.names.get(*code as usize).map(String::as_str));
        }
        sorted
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
                if let Some(slot) = values.get_mut(row) {
                    *slot = value;
                }
            }
            Self::Words(_) => {}
        }
    }

    /// Keeps the rows whose flag in `mask` is true.
    pub(crate) fn retain(&mut self, mask: &[bool]) {
        let mut rows = mask.iter();
        let mut keeps_next = move || rows.next().copied().unwrap_or(false);
        match self {
            Self::Numbers(values) | Self::Times(values) => values.retain(|_| keeps_next()),
            Self::Words(words) => words.codes.retain(|_| keeps_next()),
        }
    }

    /// Converts the values to names.
    pub(crate) fn to_categories(&self) -> Categories {
        match self {
            Self::Words(words) => words.clone(),
            Self::Times(values) => {
                let texts = values.iter().map(|value| super::ticks::format_time(*value));
                let texts: Vec<String> = texts.collect();
                texts.iter().map(|text| Some(text.as_str())).collect()
            }
            Self::Numbers(values) => {
                let texts = values.iter().map(|value| match value.is_nan() {
                    true => NO_NAME.to_owned(),
                    false => super::ticks::format_number(*value),
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
