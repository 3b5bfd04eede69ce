//! Several files as one stream of steps: each file once an epoch, opened some at a time.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow::datatypes::Int64Type;
use tokio::runtime::Runtime;
use twox_hash::XxHash3_64;

use super::TrainingGraph;
use super::files::{TrainingFile, files, one, selected};
use super::open::{Arrays, Open, OpenGraph};
use super::options::GraphsOptions;
use super::step::GraphStep;
use crate::column;
use crate::error::{Error, Result};
use crate::formats::tpugraphs::Loader;
use crate::store::Store;
use crate::training::{Ahead, Order, Position, Prefetch, Units, mixed};

/// Stack of threads that plan and answer questions; what is not used of it takes no memory.
const STACK_BYTES: usize = 16 << 20;

/// Files that are opened together the first time.
const FIRST_GRAPHS: usize = 64;

/// Files of TpuGraphs as steps of any epoch.
///
/// * A step follows from the files, the options and its [`Position`] alone: to resume is to begin there.
/// * The store is read as it was when this was made.
/// * Cheap to clone, and to share between threads.
#[derive(Clone)]
pub struct TrainingGraphs(Arc<Graphs>);

struct Graphs {
    files: Vec<TrainingFile>,
    /// Ends of the families that take turns, among the files.
    families: Option<Arc<[u64]>>,
    options: GraphsOptions,
    order: Order,
    reading: Arc<Reading>,
    arrays: Arrays,
}

/// What reads files, and those that it has read.
struct Reading {
    state: Mutex<(Loader, Open)>,
    /// Questions are asked by threads of this loader's own: who asks for steps may hold up those of others. `None` once it
    /// is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        // To wait for its threads is not allowed where this may be dropped, and they have nothing left to do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The file with this id, or whose id ends in `:name`.
///
/// # Errors
/// [`Error::Unknown`] where there is none, [`Error::Ambiguous`] where there are several.
pub async fn training_graph(store: &Store, name: &str) -> Result<TrainingGraph> {
    let mut loader = Loader::new(store).await?;
    let files = files(&loader).await?;
    let file = one(&files, name)?;
    let loaded = TrainingGraph::load(&mut loader, &[file]).await?.pop();
    loaded.ok_or_else(lost)
}

/// Files as a stream of training steps. A name is the id of a file (`layout:xla:random:resnet50`), the last part of one
/// (`resnet50`), or a collection (`layout:xla:random`), which is all of its files.
///
/// # Errors
/// [`Error::Unknown`] for a name that nothing has, [`Error::Ambiguous`] for one of several files, [`Error::Empty`] where no
/// file is of the split, [`Error::Argument`] for options that cannot be, [`Error::Query`] for families that are no SQL, and failures of the
/// storage.
pub async fn training_graphs(
    store: &Store,
    names: &[&str],
    options: &GraphsOptions,
) -> Result<TrainingGraphs> {
    options.checked()?;
    let loader = Loader::new(store).await?;
    let mut files = selected(&files(&loader).await?, names, options.split.as_deref())?;
    let families = match &options.balance {
        Some(family) => Some(in_families(&loader, &mut files, family).await?),
        None => None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .thread_name("tsql-training")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build();
    let open = Open::new(options.open_graphs, options.open_samples);
    let reading = Reading {
        state: Mutex::new((loader, open)),
        runtime: Some(runtime.map_err(Error::io("threads"))?),
    };
    Ok(TrainingGraphs::of(
        files,
        families,
        options.clone(),
        Arc::new(reading),
    ))
}

/// Puts files of a family together, and gives the ends of the families.
async fn in_families(
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
    // Sorted as they were within each.
    files.sort_by(|a, b| of(a).cmp(&of(b)));
    let together = files.chunk_by(|a, b| of(a) == of(b));
    let ends = together.scan(0, |end, family| {
        *end += family.len() as u64;
        Some(*end)
    });
    Ok(ends.collect())
}

impl TrainingGraphs {
    fn of(
        files: Vec<TrainingFile>,
        families: Option<Arc<[u64]>>,
        options: GraphsOptions,
        reading: Arc<Reading>,
    ) -> Self {
        let mut order = Order::new(Units::Rows(files.len() as u64), &options.as_rows());
        if let Some(families) = &families {
            order = order.in_turns(Arc::clone(families));
        }
        Self(Arc::new(Graphs {
            files,
            families,
            options,
            order,
            reading,
            arrays: Arrays::default(),
        }))
    }

    /// The same files for one of several processes or workers: see [`GraphsOptions::rank`].
    ///
    /// # Errors
    /// [`Error::Argument`] where `rank` is not below `world`.
    pub fn for_rank(&self, rank: u64, world: u64) -> Result<Self> {
        let options = self.0.options.clone().rank(rank, world);
        options.checked()?;
        let reading = Arc::clone(&self.0.reading);
        let families = self.0.families.clone();
        Ok(Self::of(self.0.files.clone(), families, options, reading))
    }

    /// The files, by their ids; where families take turns those of a family together.
    #[must_use]
    pub fn files(&self) -> &[TrainingFile] {
        &self.0.files
    }

    /// What it was made with.
    #[must_use]
    pub fn options(&self) -> &GraphsOptions {
        &self.0.options
    }

    /// Steps of each epoch, the same for all ranks.
    #[must_use]
    pub fn step_count(&self) -> u64 {
        self.0.order.steps(0)
    }

    /// A step. Files that are opened for it stay open for those after it.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such step, and failures of the storage.
    pub fn step(&self, position: Position) -> Result<GraphStep> {
        self.made(position)
    }

    /// The steps of an epoch from one on, made ahead by threads that begin with the first one. `from` may be the end of
    /// the epoch.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such step.
    pub fn iter(&self, from: Position) -> Result<GraphsIter> {
        let end = Position::start_of(from.epoch.saturating_add(1));
        self.until(from, Some(end))
    }

    /// As [`TrainingGraphs::iter`], epoch after epoch without an end.
    ///
    /// # Errors
    /// As [`TrainingGraphs::iter`].
    pub fn epochs(&self, from: Position) -> Result<GraphsIter> {
        self.until(from, None)
    }

    fn until(&self, from: Position, end: Option<Position>) -> Result<GraphsIter> {
        let steps = self.step_count();
        if from.step > steps {
            let (epoch, step) = (from.epoch, from.step);
            let reason = format!("epoch {epoch} has {steps} steps: it cannot go on at {step}");
            return Err(Error::Argument {
                name: "from",
                reason,
            });
        }
        let number = |at: Position| at.epoch.saturating_mul(steps).saturating_add(at.step);
        // Ranks without a step have none in any epoch.
        let last = if steps == 0 {
            0
        } else {
            end.map_or(u64::MAX, number)
        };
        let ahead = Ahead {
            steps: self.0.options.prefetch,
            threads: self.0.options.threads,
        };
        let graphs = self.clone();
        let make = move |number| graphs.made(position(number, steps));
        Ok(GraphsIter {
            steps,
            prefetch: Prefetch::new(number(from)..last, ahead, make),
        })
    }

    fn made(&self, position: Position) -> Result<GraphStep> {
        let graphs = &self.0;
        let open = self.open(position)?;
        let file = graphs.files.get(open.file).ok_or_else(lost)?;
        // Which samples are picked depends on the file and the epoch, not on where in the epoch the file comes.
        let of_file = mixed(XxHash3_64::oneshot(file.id.as_bytes()));
        let picking = graphs
            .options
            .picking
            .seed(graphs.options.picking.seed ^ of_file);
        let samples = open.graph.pick(&picking, position.epoch);
        let arrays = graphs.arrays.of(&open)?;
        let split = file.split.clone();
        let form = graphs.options.form;
        open.graph.step(position, split, samples, form, arrays)
    }

    fn file_at(&self, position: Position) -> Result<usize> {
        let chosen = self.0.order.chosen(position)?.rows;
        let file = chosen.first().and_then(|file| usize::try_from(*file).ok());
        file.ok_or_else(lost)
    }

    /// The file of a step, opened together with those of the steps around it.
    fn open(&self, position: Position) -> Result<Arc<OpenGraph>> {
        let file = self.file_at(position)?;
        let reading = &self.0.reading;
        let mut state = reading.state();
        if let Some(open) = state.1.find(file) {
            return Ok(open);
        }
        let mut wanted = Vec::new();
        for step in self.together(position, state.1.opened())? {
            let file = self.file_at(Position { step, ..position })?;
            if state.1.find(file).is_none() && !wanted.contains(&file) {
                wanted.push(file);
            }
        }
        let of: Option<Vec<&TrainingFile>> =
            wanted.iter().map(|&file| self.0.files.get(file)).collect();
        let graphs = reading.read(&mut state.0, &of.ok_or_else(lost)?)?;
        let opened = wanted.into_iter().zip(graphs);
        let opened = opened.map(|(file, graph)| Arc::new(OpenGraph::new(file, graph)));
        let opened: Vec<_> = opened.collect();
        let found = opened.iter().find(|one| one.file == file).map(Arc::clone);
        state.1.put(opened);
        found.ok_or_else(lost)
    }

    /// The steps whose files are opened together: from this one on, as long as half of what may be open is not full. At
    /// least this one, and no more than were opened before: each time reads all places of the tables that files lie in, so few times
    /// are best, and the first step is not to wait for all of them.
    fn together(&self, from: Position, opened: usize) -> Result<Range<u64>> {
        let options = &self.0.options;
        let (graphs, samples) = (options.open_graphs / 2, options.open_samples / 2);
        let graphs = graphs.min(opened.max(FIRST_GRAPHS));
        let (mut end, mut sum) = (from.step, 0_u64);
        while end < self.step_count() {
            let file = self.file_at(Position { step: end, ..from })?;
            sum += self.0.files.get(file).map_or(0, |file| file.sample_count);
            if end > from.step && (end - from.step >= graphs as u64 || sum > samples) {
                break;
            }
            end += 1;
        }
        Ok(from.step..end)
    }
}

impl Reading {
    /// Reads files in a thread of its own: whoever asks for a step may be in an asynchronous function, where nothing may be
    /// waited for.
    fn read(&self, loader: &mut Loader, files: &[&TrainingFile]) -> Result<Vec<TrainingGraph>> {
        let runtime = self.runtime.as_ref().ok_or_else(lost)?;
        std::thread::scope(|threads| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let load = || runtime.block_on(TrainingGraph::load(loader, files));
            let thread = thread.spawn_scoped(threads, load);
            let read = thread.map_err(Error::io("a thread"))?.join();
            read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn state(&self) -> MutexGuard<'_, (Loader, Open)> {
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

fn lost() -> Error {
    Error::Internal("a file of the selection is lost".to_owned())
}

/// The position of the step with this number, counted through all epochs of so many steps.
fn position(number: u64, steps: u64) -> Position {
    Position {
        epoch: number / steps.max(1),
        step: number % steps.max(1),
    }
}

/// Steps in their order.
#[derive(Debug)]
pub struct GraphsIter {
    steps: u64,
    prefetch: Prefetch<GraphStep>,
}

impl GraphsIter {
    /// Where to go on: the step that `next` gives, whatever was made ahead; after the last one of an epoch the first of
    /// the next.
    #[must_use]
    pub fn position(&self) -> Position {
        position(self.prefetch.position(), self.steps)
    }

    /// Waits for the next one, at most so long, so that who waits can look at something else in between (Ctrl-C). True
    /// where `next` would not wait.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        self.prefetch.wait(at_most)
    }
}

impl Iterator for GraphsIter {
    type Item = Result<GraphStep>;

    fn next(&mut self) -> Option<Self::Item> {
        self.prefetch.next()
    }
}
