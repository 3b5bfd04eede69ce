//! Tiles of a kernel, decoded on request because most configurations are never picked.

use std::sync::Arc;

use tsql_adapters::formats::tpugraphs::Configurations;
use tsql_codecs::tile::Tile;
use tsql_error::{Error, Result};

/// Encoded tiles of the samples of a file.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    known: Arc<Configurations>,
    /// Index of each sample among the configurations of the graph.
    places: Vec<usize>,
}

impl Tiles {
    pub(super) fn new(known: Arc<Configurations>, places: Vec<usize>) -> Self {
        Self { known, places }
    }

    /// Decodes the tiles of these samples; samples beyond the file are left out.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a configuration that is not a tile.
    pub(super) fn for_samples(&self, samples: &[u32]) -> Result<Vec<Tile>> {
        let damaged = || Error::damaged("configurations", "they do not fit their graph");
        let places = samples.iter();
        let places = places.filter_map(|&sample| self.places.get(sample as usize));
        let tiles = places.map(|&place| self.known.tile(place).ok_or_else(damaged));
        tiles.collect()
    }
}
