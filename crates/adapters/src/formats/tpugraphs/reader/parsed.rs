//! Documents with the identifiers of their rows.

use std::collections::HashMap;
use std::sync::Arc;

use tsql_codecs::identity::{ProgramHash, graph_id};
use tsql_codecs::tile::{self, Tile};
use tsql_formats::tpugraphs::{CollectionPath, Configurations, NAME, NpzDocument};

use crate::ingest_log::ReadPlan;

/// A document that is not yet committed.
pub(super) struct PendingDocument {
    pub(super) document: NpzDocument,
    pub(super) place: CollectionPath,
    pub(super) source_id: i64,
    pub(super) graph_id: i64,
    pub(super) platform: Arc<str>,
    /// Content hash of the graph.
    pub(super) key: String,
    /// Hash of each row's configuration.
    pub(super) programs: Vec<ProgramHash>,
}

impl PendingDocument {
    pub(super) fn new(document: NpzDocument, reading: &ReadPlan, place: &CollectionPath) -> Self {
        let key = document.graph.content_hash();
        let source_id = reading.source_id;
        let programs = match &document.configurations {
            Configurations::Layout { layouts, params } => {
                let hasher = layouts.hasher();
                let length = layouts.params_length();
                let row = |row| params.get(row * length..(row + 1) * length).unwrap_or(&[]);
                let rows = 0..document.runtimes.len();
                rows.map(|index| hasher.hash(row(index)).unwrap_or_default())
                    .collect()
            }
            Configurations::Tile(tiles) => {
                let steps = tile_steps(tiles, source_id);
                steps
                    .map(|steps| ProgramHash::from_steps(steps.as_bytes()))
                    .collect()
            }
        };
        Self {
            graph_id: graph_id(NAME, &key),
            key,
            programs,
            document,
            place: place.clone(),
            platform: Arc::from(reading.platform.as_str()),
            source_id,
        }
    }

    /// Runtimes in nanoseconds. A stored 0 means withheld.
    pub(super) fn runtimes(&self) -> impl Iterator<Item = Option<f64>> {
        let runtimes = self.document.runtimes.iter();
        runtimes.map(|&runtime| (runtime != 0).then(|| to_f64(runtime)))
    }

    /// Runtimes of the default tile in nanoseconds. A stored 1 means withheld, together with the runtime.
    pub(super) fn baselines(&self) -> impl Iterator<Item = Option<f64>> {
        let normalizers = self.document.normalizers.as_deref();
        let runtimes = self.document.runtimes.iter().enumerate();
        runtimes.map(move |(row, &runtime)| {
            let normalizer = *normalizers?.get(row)?;
            (runtime != 0 || normalizer != 1).then(|| to_f64(normalizer))
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the reader accepts up to 2^53 nanoseconds"
)]
fn to_f64(nanoseconds: i64) -> f64 {
    nanoseconds as f64
}

/// Steps of all tiles of a file.
///
/// Bounds that are all 0 or equal in two rows do not identify a configuration. Such rows get their file and
/// row as identity and are never merged.
pub(super) fn tile_steps(tiles: &[Tile], source_id: i64) -> impl Iterator<Item = String> {
    let mut seen: HashMap<&Tile, usize> = HashMap::new();
    for tile in tiles {
        *seen.entry(tile).or_default() += 1;
    }
    tiles.iter().enumerate().map(move |(row, tile)| {
        let vague = seen.get(tile) != Some(&1) || tile.iter().all(|&bound| bound == 0);
        tile::steps(tile, vague.then_some((source_id, row)))
    })
}
