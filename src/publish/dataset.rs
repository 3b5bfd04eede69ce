//! The dataset as its card and its metadata tell it.

use arrow::datatypes::SchemaRef;

use super::facts::Facts;
use super::options::PublishOptions;
use super::shown::Shown;
use crate::delivered::Written;

/// A dataset whose tables are written.
pub(super) struct Dataset {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) citation: Option<String>,
    pub(super) authors: Vec<String>,
    pub(super) url: Option<String>,
    pub(super) version: Option<String>,
    /// The day of publication.
    pub(super) date: Option<String>,
    /// The day of the newest data.
    pub(super) newest: Option<String>,
    pub(super) tables: Vec<Table>,
    pub(super) facts: Facts,
}

/// A table that is written.
pub(super) struct Table {
    pub(super) shown: Shown,
    /// As readers see it.
    pub(super) schema: SchemaRef,
    pub(super) files: Vec<Written>,
}

impl Dataset {
    /// `name` is that of its folder.
    pub(super) fn new(
        name: String,
        options: &PublishOptions,
        tables: Vec<Table>,
        facts: Facts,
    ) -> Self {
        let newest = facts.newest.clone();
        let mut dataset = Self {
            title: options.title.clone().unwrap_or(name),
            description: String::new(),
            license: options.license.clone(),
            citation: options
                .citation
                .as_deref()
                .map(|text| text.trim().to_owned()),
            authors: options.authors.clone(),
            url: options.url.clone(),
            version: options.version.clone(),
            date: options.date.clone().or_else(|| newest.clone()),
            newest,
            tables,
            facts,
        };
        let told = options.description.clone();
        dataset.description = told.unwrap_or_else(|| dataset.described());
        dataset
    }

    /// How much of what there is, in a sentence.
    fn described(&self) -> String {
        let rows = |name: &str| self.table(name).map_or(0, Table::rows);
        let counted = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{} {noun}s", grouped(count)),
        };
        format!(
            "{} of tensor programs: {} of {} on {}.",
            counted(rows("records"), "measurement"),
            counted(rows("configurations"), "configuration"),
            counted(rows("graphs"), "graph"),
            counted(self.facts.platforms() as u64, "platform")
        )
    }

    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.shown.name == name)
    }

    /// The version without the `v` that names of tags begin with.
    pub(super) fn version_number(&self) -> Option<&str> {
        let version = self.version.as_deref()?;
        let number = version.strip_prefix('v');
        let number = number.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        Some(number.unwrap_or(version))
    }
}

impl Table {
    pub(super) fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The pattern of its files, for whatever walks folders.
    pub(super) fn pattern(&self) -> String {
        let folders = "*/".repeat(self.shown.partition.len());
        format!("{}/{folders}*.parquet", self.shown.name)
    }
}

/// A number as people read it: `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (51_600_000, "51,600,000"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }
}
