//! Formats by the names that people ask for them by.

use super::format::Documents;
use super::listed::{DOCUMENTS, Dialect};

/// A format that somebody asks for: files are taken as its, whatever they look like.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// Of logs: each line is a record, or refused.
    Log(Dialect),
    /// Of files that are read as a whole.
    Document(&'static dyn Documents),
}

impl Named {
    /// All of them, each name once.
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

    /// The one of this name.
    pub fn of(name: &str) -> Option<Self> {
        let mut all = Self::all().into_iter();
        all.find(|format| format.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log(dialect) => dialect.name(),
            Self::Document(format) => format.name(),
        }
    }

    /// The dataset of what its files hold.
    pub fn dataset(self) -> &'static str {
        match self {
            Self::Log(dialect) => dialect.dataset(),
            Self::Document(format) => format.dataset(),
        }
    }

    /// One of its files in words.
    pub fn described(self) -> &'static str {
        match self {
            Self::Log(dialect) => dialect.described(),
            Self::Document(format) => format.described(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_name_of_its_own() {
        let names: Vec<&str> = Named::all().into_iter().map(Named::name).collect();
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
            assert_eq!(Named::of(name).map(Named::name), Some(name));
        }
        assert!(Named::of("Tenset").is_none() && Named::of("").is_none());
    }
}
