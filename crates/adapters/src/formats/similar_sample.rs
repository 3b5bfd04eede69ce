//! Report on a sample that resembles an already stored one.

use serde::Serialize;

/// Similarity of two samples.
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
    /// All levels, from the strongest to the weakest.
    pub const ALL: [Self; 5] = [
        Self::Files,
        Self::UpstreamHash,
        Self::Graph,
        Self::ShapeFree,
        Self::OpSequence,
    ];

    /// Name for display.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::UpstreamHash => "upstream hash",
            Self::Graph => "graph",
            Self::ShapeFree => "graph except for numbers",
            Self::OpSequence => "operations",
        }
    }
}

/// A sample that resembles one that the store already has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SimilarSample {
    /// Path of the sample.
    pub path: String,
    /// Similarity to the other sample.
    pub level: Level,
    /// Path of the other sample, which the store or this run had first.
    pub same_as: String,
}
