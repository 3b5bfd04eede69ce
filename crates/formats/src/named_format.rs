//! Formats by name.

use super::format::DocumentFormat;
use super::registry::{DOCUMENTS, Dialect};

/// Format requested by the user. Files are read in this format, whatever they look like.
#[derive(Clone, Copy, Debug)]
pub enum NamedFormat {
    /// Log format: each line is a record or is rejected.
    Log(Dialect),
    /// Format of files that are read as a whole.
    Document(&'static dyn DocumentFormat),
}

impl NamedFormat {
    /// Returns all formats, each name once.
    pub fn all() -> Vec<Self> {
        let logs = Dialect::ALL.iter().copied().map(Self::Log);
        let formats = logs.chain(DOCUMENTS.iter().copied().map(Self::Document));
        let mut all: Vec<Self> = Vec::new();
        for format in formats {
            if all.iter().all(|other| other.name() != format.name()) {
                all.push(format);
            }
        }
        all
    }

    /// Returns the format with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let mut all = Self::all().into_iter();
        all.find(|format| format.name() == name)
    }

    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log(dialect) => dialect.name(),
            Self::Document(format) => format.name(),
        }
    }

    /// Dataset of the contents of the files.
    pub fn dataset(self) -> &'static str {
        match self {
            Self::Log(dialect) => dialect.dataset(),
            Self::Document(format) => format.dataset(),
        }
    }

    /// Description of one file for messages.
    pub fn description(self) -> &'static str {
        match self {
            Self::Log(dialect) => dialect.description(),
            Self::Document(format) => format.description(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_names_are_unique() {
        for format in NamedFormat::all() {
            let name = format.name();
            let found = NamedFormat::by_name(name).map(NamedFormat::dataset);
            assert_eq!(found, Some(format.dataset()), "{name}");
            let is_plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            assert!(name.bytes().all(is_plain), "{name}");
        }
        let logs = Dialect::ALL.iter().map(|dialect| dialect.name());
        let documents = DOCUMENTS.iter().map(|format| format.name());
        for name in logs.clone() {
            let same_name = logs.clone().chain(documents.clone());
            assert_eq!(
                same_name.filter(|other| *other == name).count(),
                1,
                "{name}"
            );
        }
        assert!(NamedFormat::by_name("Tenset").is_none() && NamedFormat::by_name("").is_none());
    }
}
