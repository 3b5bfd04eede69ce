//! Description of the dataset for its card and metadata.

use arrow::datatypes::SchemaRef;
use tsql_store::atomic_output::WrittenFile;

use super::facts::Facts;
use super::options::PublishOptions;
use super::published_relations::PublishedRelation;

/// A written dataset.
pub(super) struct Dataset {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) citation: Option<String>,
    pub(super) authors: Vec<String>,
    pub(super) url: Option<String>,
    pub(super) version: Option<String>,
    /// Day of publication.
    pub(super) date: Option<String>,
    /// Day of the newest data.
    pub(super) newest: Option<String>,
    pub(super) tables: Vec<DatasetTable>,
    pub(super) facts: Facts,
}

/// A written table.
pub(super) struct DatasetTable {
    pub(super) shown: PublishedRelation,
    /// Schema of its files.
    pub(super) schema: SchemaRef,
    pub(super) files: Vec<WrittenFile>,
}

impl Dataset {
    /// Creates the description. `name` is that of its folder.
    pub(super) fn new(
        name: String,
        options: &PublishOptions,
        tables: Vec<DatasetTable>,
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
        dataset.description = told.unwrap_or_else(|| dataset.default_description());
        dataset
    }

    /// Returns a sentence with the size of the dataset.
    fn default_description(&self) -> String {
        let rows = |name: &str| self.table(name).map_or(0, DatasetTable::rows);
        let counted = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{} {noun}s", with_thousands_separators(count)),
        };
        format!(
            "{} of tensor programs: {} of {} on {}.",
            counted(rows("records"), "measurement"),
            counted(rows("configurations"), "configuration"),
            counted(rows("graphs"), "graph"),
            counted(self.facts.platforms() as u64, "platform")
        )
    }

    pub(super) fn table(&self, name: &str) -> Option<&DatasetTable> {
        self.tables.iter().find(|table| table.shown.name == name)
    }

    /// Returns the version without the prefix `v` of tag names.
    pub(super) fn version_number(&self) -> Option<&str> {
        let version = self.version.as_deref()?;
        let number = version.strip_prefix('v');
        let number = number.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        Some(number.unwrap_or(version))
    }
}

impl DatasetTable {
    pub(super) fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the glob pattern of its files.
    pub(super) fn pattern(&self) -> String {
        let folders = "*/".repeat(self.shown.partition.len());
        format!("{}/{folders}*.parquet", self.shown.name)
    }
}

/// Formats a number with thousands separators: `1,234,567`.
pub(super) fn with_thousands_separators(number: u64) -> String {
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
            assert_eq!(with_thousands_separators(number), shown);
        }
    }
}
