//! A document with what its rows are known by.

use std::collections::HashMap;
use std::sync::Arc;

use tsql_codecs::identity::{ProgramHash, graph_id};
use tsql_codecs::tile::{self, Tile};
use tsql_formats::tpugraphs::{Configurations, Document, NAME, Place};

use crate::ledger::Reading;

/// A document that is not committed yet.
pub(super) struct Parsed {
    pub(super) document: Document,
    pub(super) place: Place,
    pub(super) source_id: i64,
    pub(super) graph_id: i64,
    pub(super) platform: Arc<str>,
    /// The graph's content hash.
    pub(super) key: String,
    /// Hash of each row's configuration.
    pub(super) programs: Vec<ProgramHash>,
}

impl Parsed {
    pub(super) fn new(document: Document, reading: &Reading, place: &Place) -> Self {
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
                    .map(|steps| ProgramHash::of(steps.as_bytes()))
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

    /// Runtimes in nanoseconds; 0 stands for a withheld one.
    pub(super) fn runtimes(&self) -> impl Iterator<Item = Option<f64>> {
        let runtimes = self.document.runtimes.iter();
        runtimes.map(|&runtime| (runtime != 0).then(|| exact(runtime)))
    }

    /// Runtimes of the default tile; with the runtime its 1 is withheld.
    pub(super) fn baselines(&self) -> impl Iterator<Item = Option<f64>> {
        let normalizers = self.document.normalizers.as_deref();
        let runtimes = self.document.runtimes.iter().enumerate();
        runtimes.map(move |(row, &runtime)| {
            let normalizer = *normalizers?.get(row)?;
            (runtime != 0 || normalizer != 1).then(|| exact(normalizer))
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the reader takes up to 2^53 nanoseconds"
)]
fn exact(nanoseconds: i64) -> f64 {
    nanoseconds as f64
}

/// The steps of all tiles of a file. Bounds that say nothing (all 0), or the same of two rows, are
/// not what a configuration is known by: such rows are never merged.
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
