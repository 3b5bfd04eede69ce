//! Loads files in chunks, with one query each for graphs, configurations and samples of a chunk.

use tsql_adapters::formats::tpugraphs::Loader;
use tsql_error::Result;
use tsql_store::Store;

use super::TrainingGraph;
use super::files::TrainingFile;

/// Maximum number of files of a chunk.
const FILES: usize = 512;

/// Maximum number of samples of a chunk, unless one file has more; each takes about 40 bytes.
const SAMPLES: u64 = 1 << 20;

/// Files that are not loaded yet.
pub(in crate::tpugraphs) struct GraphChunks<'a> {
    loader: Loader,
    left: &'a [TrainingFile],
}

/// Loads these files in chunks, in order.
pub(in crate::tpugraphs) async fn load_in_chunks<'a>(
    store: &Store,
    files: &'a [TrainingFile],
) -> Result<GraphChunks<'a>> {
    Ok(GraphChunks {
        loader: Loader::new(store).await?,
        left: files,
    })
}

impl<'a> GraphChunks<'a> {
    /// Returns the next chunk; `None` after the last one.
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
