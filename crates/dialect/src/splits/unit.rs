//! Units of splits: sets of records that stay together.

use serde::Serialize;

use tsql_error::{Error, Result};

/// Unit of a split: all records that share a key of this kind are in the same part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SplitUnit {
    /// A configuration, by `config_key`.
    Config,
    /// A workload on a target kind: `workload_key`, a space, `target_kind`.
    #[default]
    Task,
    /// The computation regardless of shapes, by `workload_name`; in other datasets the graph.
    Dag,
    /// Like `Dag`; for GraphNet the graph without numbers (`shape_free_hash`), for TpuGraphs the network without batch,
    /// mesh and type.
    Structure,
    /// The network that a graph is, or is part of.
    Network,
    /// The hardware, by `platform`.
    Platform,
    /// The time of the measurement: stored cut points.
    Time,
    /// The line in its file: a cut point per file, as in TenSet's `within_task`.
    Line,
    /// The collection column of TpuGraphs files (`records.split`).
    Collection,
}

impl SplitUnit {
    /// All units.
    pub const ALL: [Self; 9] = [
        Self::Config,
        Self::Task,
        Self::Dag,
        Self::Structure,
        Self::Network,
        Self::Platform,
        Self::Time,
        Self::Line,
        Self::Collection,
    ];

    /// Name, as it is typed, stored and hashed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Task => "task",
            Self::Dag => "dag",
            Self::Structure => "structure",
            Self::Network => "network",
            Self::Platform => "platform",
            Self::Time => "time",
            Self::Line => "line",
            Self::Collection => "collection",
        }
    }

    /// Parses the name of a unit.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is none.
    pub fn parse(word: &str) -> Result<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|unit| unit.word() == word)
            .ok_or_else(|| Error::Unknown {
                kind: "unit of a split",
                name: word.to_owned(),
                known: Self::ALL.map(Self::word).join(", "),
            })
    }

    /// Columns of a record that determine its unit.
    #[must_use]
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Config => &["config_id"],
            Self::Task => &["graph_id", "environment_id"],
            Self::Dag | Self::Structure | Self::Network => &["graph_id"],
            Self::Platform => &["platform"],
            Self::Time => &["measured_at"],
            Self::Line => &["source_id", "line"],
            Self::Collection => &["split"],
        }
    }

    /// Returns whether graphs have keys of this kind, possibly several.
    pub fn is_of_graphs(self) -> bool {
        matches!(self, Self::Dag | Self::Structure | Self::Network)
    }

    /// Returns whether parts follow from hashes of keys.
    pub fn is_hashed(self) -> bool {
        !matches!(self, Self::Time | Self::Line | Self::Collection)
    }
}
