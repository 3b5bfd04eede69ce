//! What stays together in a split.

use serde::Serialize;

use crate::error::{Error, Result};

/// What stays together in a split: all records that share a key of this kind are in one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SplitUnit {
    /// A configuration, by `config_key`.
    Config,
    /// A workload on a kind of target: `workload_key`, a space, `target_kind`.
    #[default]
    Task,
    /// What is computed whatever its shapes, by `workload_name`; of other datasets the graph.
    Dag,
    /// As `Dag`; of GraphNet the graph without numbers (`shape_free_hash`), of TpuGraphs the network without batch, mesh and type.
    Structure,
    /// The network that a graph is, or is part of.
    Network,
    /// The hardware, by `platform`.
    Platform,
    /// When it was measured: a cut that is stored.
    Time,
    /// Where it stands in its file: a cut for each file, as TenSet's `within_task`.
    Line,
    /// The part that TpuGraphs' files are in (`records.split`).
    Collection,
}

impl SplitUnit {
    /// All of them.
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

    /// As it is typed, stored and hashed.
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

    /// The unit of this word.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub fn parse(word: &str) -> Result<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|unit| unit.word() == word)
            .ok_or_else(|| Error::Unknown {
                kind: "unit of a split",
                name: word.to_owned(),
                known: Self::ALL.map(Self::word).join(", "),
            })
    }

    /// The columns of a record that say which unit it belongs to.
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

    /// Do graphs have keys of this kind, maybe several?
    pub(crate) fn is_of_graphs(self) -> bool {
        matches!(self, Self::Dag | Self::Structure | Self::Network)
    }

    /// Do its parts follow from hashes of keys?
    pub(crate) fn is_hashed(self) -> bool {
        !matches!(self, Self::Time | Self::Line | Self::Collection)
    }
}
