//! What is told of a sample that something like it was known of before.

use serde::Serialize;

/// How much two samples have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// All files, byte for byte.
    Files,
    /// Upstream's `graph_hash.txt`.
    UpstreamHash,
    /// The graph without the names of its values.
    Graph,
    /// The graph without any number in its calls.
    ShapeFree,
    /// The names of its operations, in their order.
    OpSequence,
}

impl Level {
    /// All of them, from the strongest to the weakest.
    pub const ALL: [Self; 5] = [
        Self::Files,
        Self::UpstreamHash,
        Self::Graph,
        Self::ShapeFree,
        Self::OpSequence,
    ];

    /// As it is told to people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::UpstreamHash => "upstream hash",
            Self::Graph => "graph",
            Self::ShapeFree => "graph but for numbers",
            Self::OpSequence => "operations",
        }
    }
}

/// A sample that something like it was known of before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KnownSample {
    /// Its path.
    pub path: String,
    /// What it has in common with the other.
    pub level: Level,
    /// Path of the other, which the store or this run had first.
    pub same_as: String,
}
