//! The tiles of a kernel: most configurations are never picked, so each is read when it is.

use std::sync::Arc;

use tsql_codecs::tile::Tile;

use crate::error::{Error, Result};
use crate::formats::tpugraphs::Configurations;

/// The tiles of a file's samples, as they are stored.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    known: Arc<Configurations>,
    /// Of each sample its place among the configurations of the graph.
    places: Vec<usize>,
}

impl Tiles {
    pub(super) fn new(known: Arc<Configurations>, places: Vec<usize>) -> Self {
        Self { known, places }
    }

    /// The tiles of these samples; those that the file does not have are left out.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a configuration that is no tile.
    pub(super) fn of(&self, samples: &[u32]) -> Result<Vec<Tile>> {
        let damaged = || Error::damaged("configurations", "they do not fit their graph");
        let places = samples.iter();
        let places = places.filter_map(|&sample| self.places.get(sample as usize));
        let tiles = places.map(|&place| self.known.tile(place).ok_or_else(damaged));
        tiles.collect()
    }
}
