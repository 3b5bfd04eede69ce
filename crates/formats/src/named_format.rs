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
        let logs = Dialect::ALL.into_iter().map(Self::Log);
        let formats = logs.chain(DOCUMENTS.into_iter().map(Self::Document));
        let mut all: Vec<Self> = Vec::new();
        for format in formats {
            if all.iter().all(|known| known.name() != format.name()) {
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
    fn each_format_has_a_name_of_its_own() {
        let names: Vec<&str> = NamedFormat::all()
            .into_iter()
            .map(NamedFormat::name)
            .collect();
        let wanted = [
            "tenset",
            "measured",
            "autotvm",
            "metaschedule",
            "tpugraphs",
            "graphnet",
            "graphnet_log",
            "network_info",
            "metaschedule_workloads",
        ];
        assert_eq!(names, wanted);
        for name in names {
            assert_eq!(
                NamedFormat::by_name(name).map(NamedFormat::name),
                Some(name)
            );
        }
        assert!(NamedFormat::by_name("Tenset").is_none() && NamedFormat::by_name("").is_none());
    }
}
