//! Streams steps of several files: each file once an epoch, with a bounded number of open files.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::Int64Type;
use tokio::runtime::Runtime;
use tsql_adapters::formats::tpugraphs::Loader;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_store::Store;
use twox_hash::XxHash3_64;

use super::TrainingGraph;
use super::files::{TrainingFile, find_file, load_files, select};
use super::open::{ArrayCache, OpenGraph, OpenGraphs};
use super::options::GraphsOptions;
use super::step::GraphStep;
use crate::training::{Order, Position, Steps, Units, mix64};

/// Stack size of threads that plan and run queries, in bytes; unused stack takes no memory.
const STACK_BYTES: usize = 16 << 20;

/// Number of files that are first opened together.
const FIRST_GRAPHS: usize = 64;

/// Iterator of steps of files, in order.
pub type GraphsIter = Steps<GraphStep>;

/// Training steps of TpuGraphs files, in any epoch.
///
/// * A step depends only on the files, the options and its [`Position`], so a run can resume at any position.
/// * The store is read at the version of the construction.
/// * Cheap to clone, and to share between threads.
#[derive(Clone)]
pub struct TrainingGraphs(Arc<SharedGraphs>);

struct SharedGraphs {
    files: Vec<TrainingFile>,
    /// Ends of the balanced families among the files.
    families: Option<Arc<[u64]>>,
    options: GraphsOptions,
    order: Order,
    reading: Arc<GraphReader>,
    arrays: ArrayCache,
}

/// Loader of files, and the open files.
struct GraphReader {
    state: Mutex<(Loader, OpenGraphs)>,
    /// Runtime of this loader's own: callers that wait for steps may block theirs. `None` once it is dropped.
    runtime: Option<Runtime>,
}

impl Drop for GraphReader {
    fn drop(&mut self) {
        // Waiting for its threads is not allowed in asynchronous code, and they have nothing left to do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Loads the file with this id, or whose id ends in `:name`.
///
/// # Errors
/// [`Error::Unknown`] if there is none, [`Error::Ambiguous`] if there are several.
pub async fn training_graph(store: &Store, name: &str) -> Result<TrainingGraph> {
    let mut loader = Loader::new(store).await?;
    let files = load_files(&loader).await?;
    let file = find_file(&files, name)?;
    let loaded = TrainingGraph::load(&mut loader, &[file]).await?.pop();
    loaded.ok_or_else(lost_file)
}

/// Opens files as a stream of training steps. A name is the id of a file (`layout:xla:random:resnet50`), the
/// last part of an id (`resnet50`), or a collection (`layout:xla:random`), which is all of its files.
///
/// # Errors
/// [`Error::Unknown`] for an unknown name, [`Error::Ambiguous`] for a name of several files, [`Error::Empty`]
/// if no file is of the split, [`Error::Argument`] for invalid options, [`Error::Query`] for invalid SQL of
/// families, and failures of the storage.
pub async fn training_graphs(
    store: &Store,
    names: &[&str],
    options: &GraphsOptions,
) -> Result<TrainingGraphs> {
    options.validate()?;
    let loader = Loader::new(store).await?;
    let mut files = select(&load_files(&loader).await?, names, options.split.as_deref())?;
    let families = match &options.balance {
        Some(family) => Some(sort_by_family(&loader, &mut files, family).await?),
        None => None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.loader.ahead.threads)
        .thread_name("tsql-training")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build();
    let open = OpenGraphs::new(options.open_graphs, options.open_samples);
    let reading = GraphReader {
        state: Mutex::new((loader, open)),
        runtime: Some(runtime.map_err(Error::io("threads"))?),
    };
    Ok(TrainingGraphs::new(
        files,
        families,
        options.clone(),
        Arc::new(reading),
    ))
}

/// Sorts files by family; returns the ends of the families.
async fn sort_by_family(
    loader: &Loader,
    files: &mut [TrainingFile],
    family: &str,
) -> Result<Arc<[u64]>> {
    let sql = format!(
        "SELECT source_id, arrow_cast(CAST(({family}) AS VARCHAR), 'Utf8View') AS family FROM sources WHERE graph_id IS NOT NULL"
    );
    let mut families = HashMap::new();
    for batch in loader.collect(&sql).await? {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let named = column::text(&batch, "family")?;
        let named = named.iter().map(|family| family.map(str::to_owned));
        families.extend(sources.values().iter().copied().zip(named));
    }
    let of = |file: &TrainingFile| families.get(&file.source_id);
    // The sort is stable.
    files.sort_by(|a, b| of(a).cmp(&of(b)));
    let together = files.chunk_by(|a, b| of(a) == of(b));
    let ends = together.scan(0, |end, family| {
        *end += family.len() as u64;
        Some(*end)
    });
    Ok(ends.collect())
}

impl TrainingGraphs {
    fn new(
        files: Vec<TrainingFile>,
        families: Option<Arc<[u64]>>,
        options: GraphsOptions,
        reading: Arc<GraphReader>,
    ) -> Self {
        let units = Units::Rows(files.len() as u64);
        let mut order = Order::new(units, 1, options.loader.clone());
        if let Some(families) = &families {
            order = order.with_families(Arc::clone(families));
        }
        Self(Arc::new(SharedGraphs {
            files,
            families,
            options,
            order,
            reading,
            arrays: ArrayCache::default(),
        }))
    }

    /// Returns the same files for one of several processes or workers: see [`GraphsOptions::rank`].
    ///
    /// # Errors
    /// [`Error::Argument`] if `rank` is not below `world`.
    pub fn for_rank(&self, rank: u64, world: u64) -> Result<Self> {
        let options = self.0.options.clone().rank(rank, world);
        options.validate()?;
        let reading = Arc::clone(&self.0.reading);
        let families = self.0.families.clone();
        Ok(Self::new(self.0.files.clone(), families, options, reading))
    }

    /// Returns the files, by id; balanced families are grouped.
    #[must_use]
    pub fn files(&self) -> &[TrainingFile] {
        &self.0.files
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &GraphsOptions {
        &self.0.options
    }

    /// Returns the steps of each epoch for this rank, including padding: the same for all ranks unless padding
    /// is off.
    #[must_use]
    pub fn step_count(&self) -> u64 {
        self.0.order.steps(0)
    }

    /// Returns the steps of each epoch for all ranks together, without padding.
    #[must_use]
    pub fn total_steps(&self) -> u64 {
        self.0.order.batches(0)
    }

    /// Returns the steps of this rank in the rest of an epoch, after the steps before `from`, which all ranks
    /// together have used.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such step.
    pub fn steps_left(&self, from: Position) -> Result<u64> {
        Ok(self.0.order.rank_share(from)?.steps())
    }

    /// Returns a step of any rank. Files that it opens stay open for later steps.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such step, and failures of the storage.
    pub fn step(&self, position: Position) -> Result<GraphStep> {
        let graphs = &self.0;
        let open = self.open(position)?;
        let file = graphs.files.get(open.file).ok_or_else(lost_file)?;
        // The picked samples depend on the file and the epoch, not on the position of the file in the epoch.
        let of_file = mix64(XxHash3_64::oneshot(file.id.as_bytes()));
        let picking = graphs
            .options
            .picking
            .seed(graphs.options.picking.seed ^ of_file);
        let samples = open.graph.pick(&picking, position.epoch);
        let arrays = graphs.arrays.for_graph(&open)?;
        let split = file.split.clone();
        let form = graphs.options.form;
        let mut step = open.graph.step(position, split, samples, form, arrays)?;
        step.is_padding = graphs.order.is_padding(position);
        Ok(step)
    }

    /// Iterates over the steps of this rank in the rest of an epoch. Threads prefetch them from the first call
    /// on. The ranks together have used the steps before `from`, whatever their number was. `from` may be the
    /// end of the epoch.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such step.
    pub fn iter(&self, from: Position) -> Result<GraphsIter> {
        let graphs = self.clone();
        Steps::new(&self.0.order, from, move |at| graphs.step(at))
    }

    /// As [`TrainingGraphs::iter`], over epochs without end.
    ///
    /// # Errors
    /// As [`TrainingGraphs::iter`].
    pub fn epochs(&self, from: Position) -> Result<GraphsIter> {
        let graphs = self.clone();
        Steps::endless(&self.0.order, from, move |at| graphs.step(at))
    }

    fn file_at(&self, position: Position) -> Result<usize> {
        let chosen = self.0.order.batch_row_indices(position)?.rows;
        let file = chosen.first().and_then(|file| usize::try_from(*file).ok());
        file.ok_or_else(lost_file)
    }

    /// Opens the file of a step, together with those of the next steps.
    fn open(&self, position: Position) -> Result<Arc<OpenGraph>> {
        let file = self.file_at(position)?;
        let reading = &self.0.reading;
        let mut state = reading.lock_state();
        if let Some(open) = state.1.find(file) {
            return Ok(open);
        }
        let mut wanted = Vec::new();
        for file in self.files_to_open(position, state.1.opened_count())? {
            if state.1.find(file).is_none() && !wanted.contains(&file) {
                wanted.push(file);
            }
        }
        let of: Option<Vec<&TrainingFile>> =
            wanted.iter().map(|&file| self.0.files.get(file)).collect();
        let graphs = reading.read(&mut state.0, &of.ok_or_else(lost_file)?)?;
        let opened = wanted.into_iter().zip(graphs);
        let opened = opened.map(|(file, graph)| Arc::new(OpenGraph::new(file, graph)));
        let opened: Vec<_> = opened.collect();
        let found = opened.iter().find(|one| one.file == file).map(Arc::clone);
        state.1.put(opened);
        found.ok_or_else(lost_file)
    }

    /// Returns the files to open together: those of this rank's steps from this one on, up to half of the
    /// limits. At least this one, and no more than were opened before: each load reads all parts of the tables
    /// that have the files, so few large loads are best, but the first step must not wait for all files.
    fn files_to_open(&self, from: Position, opened: usize) -> Result<Vec<usize>> {
        let options = &self.0.options;
        let (graphs, samples) = (options.open_graphs / 2, options.open_samples / 2);
        let graphs = graphs.min(opened.max(FIRST_GRAPHS));
        let (mut at, mut sum, mut files) = (from, 0_u64, Vec::new());
        loop {
            let file = self.file_at(at)?;
            sum += self.0.files.get(file).map_or(0, |file| file.sample_count);
            if !files.is_empty() && (files.len() >= graphs || sum > samples) {
                break;
            }
            files.push(file);
            at.batch = at.batch.saturating_add(options.loader.world);
            if at.batch >= self.total_steps() {
                break;
            }
        }
        Ok(files)
    }
}

impl GraphReader {
    /// Loads files in a separate thread: the caller may be in an asynchronous function, which must not block.
    fn read(&self, loader: &mut Loader, files: &[&TrainingFile]) -> Result<Vec<TrainingGraph>> {
        let runtime = self.runtime.as_ref().ok_or_else(lost_file)?;
        std::thread::scope(|threads| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let load = || runtime.block_on(TrainingGraph::load(loader, files));
            let thread = thread.spawn_scoped(threads, load);
            let read = thread.map_err(Error::io("a thread"))?.join();
            read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn lock_state(&self) -> MutexGuard<'_, (Loader, OpenGraphs)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TrainingGraphs {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("TrainingGraphs")
            .field("files", &self.0.files.len())
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

fn lost_file() -> Error {
    Error::Internal("a file of the selection is missing".to_owned())
}
