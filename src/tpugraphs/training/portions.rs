//! Files one portion after the other: as many as are read with one question each for graphs, configurations and samples.

use super::TrainingGraph;
use super::files::TrainingFile;
use crate::error::Result;
use crate::formats::tpugraphs::Loader;
use crate::store::Store;

/// Files of a portion at most.
const FILES: usize = 512;

/// Samples of a portion at most, unless one file has more; each takes about 40 bytes.
const SAMPLES: u64 = 1 << 20;

/// Files that are still to be read.
pub(in crate::tpugraphs) struct Portions<'a> {
    loader: Loader,
    left: &'a [TrainingFile],
}

/// All of these files, in their order.
pub(in crate::tpugraphs) async fn loaded_in_portions<'a>(
    store: &Store,
    files: &'a [TrainingFile],
) -> Result<Portions<'a>> {
    Ok(Portions {
        loader: Loader::new(store).await?,
        left: files,
    })
}

impl<'a> Portions<'a> {
    /// The next ones; `None` after the last.
    pub(in crate::tpugraphs) async fn next(
        &mut self,
    ) -> Result<Option<Vec<(&'a TrainingFile, TrainingGraph)>>> {
        let mut samples = 0;
        let fits = self.left.iter().take(FILES).take_while(|file| {
            let is_first = samples == 0;
            samples += file.sample_count.max(1);
            is_first || samples <= SAMPLES
        });
        let count = fits.count();
        if count == 0 {
            return Ok(None);
        }
        let (portion, left) = self.left.split_at(count);
        self.left = left;
        let files: Vec<&TrainingFile> = portion.iter().collect();
        let graphs = TrainingGraph::load(&mut self.loader, &files).await?;
        Ok(Some(portion.iter().zip(graphs).collect()))
    }
}
