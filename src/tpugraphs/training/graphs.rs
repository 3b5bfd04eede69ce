//! Several files as one stream of steps: each file once an epoch, opened some at a time.

use std::collections::HashMap;
use std::fmt;
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
use crate::training::{Ahead, Order, Position, Prefetch, Share, Units, mixed};

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

    /// Steps of each epoch for this rank, padding included: the same for all ranks unless padding is off.
    #[must_use]
    pub fn step_count(&self) -> u64 {
        self.0.order.steps(0)
    }

    /// Steps of each epoch for all ranks together, without padding.
    #[must_use]
    pub fn total_steps(&self) -> u64 {
        self.0.order.batches(0)
    }

    /// Steps of this rank in the rest of an epoch, of which all ranks have taken those before `from`.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such step.
    pub fn steps_left(&self, from: Position) -> Result<u64> {
        Ok(self.0.order.share(from)?.steps())
    }

    /// A step, whichever rank takes it. Files that are opened for it stay open for those after it.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such step, and failures of the storage.
    pub fn step(&self, position: Position) -> Result<GraphStep> {
        self.made(position)
    }

    /// The steps of this rank in the rest of an epoch, made ahead by threads that begin with the first one. Steps before `from`
    /// were taken by all ranks together, however many they were. `from` may be the end of the epoch.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such step.
    pub fn iter(&self, from: Position) -> Result<GraphsIter> {
        self.until(from, true)
    }

    /// As [`TrainingGraphs::iter`], epoch after epoch without an end.
    ///
    /// # Errors
    /// As [`TrainingGraphs::iter`].
    pub fn epochs(&self, from: Position) -> Result<GraphsIter> {
        self.until(from, false)
    }

    fn until(&self, from: Position, one_epoch: bool) -> Result<GraphsIter> {
        let rest = Steps {
            first: self.0.order.share(from)?,
            later: self.0.order.share(Position::default())?,
        };
        // A rank without a step in an epoch has none in any.
        let end = match one_epoch || rest.later.steps() == 0 {
            true => rest.first.steps(),
            false => u64::MAX,
        };
        let ahead = Ahead {
            steps: self.0.options.prefetch,
            threads: self.0.options.threads,
        };
        let graphs = self.clone();
        let make = move |number| graphs.made(rest.at(number));
        Ok(GraphsIter {
            rest,
            prefetch: Prefetch::new(0..end, ahead, make),
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
        let mut step = open.graph.step(position, split, samples, form, arrays)?;
        step.is_padding = graphs.order.is_padding(position);
        Ok(step)
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
        for file in self.together(position, state.1.opened())? {
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

    /// The files that are opened together: of this rank's steps from this one on, as long as half of what may be open is not
    /// full. At least this one, and no more than were opened before: each time reads all places of the tables that files lie
    /// in, so few times are best, and the first step is not to wait for all of them.
    fn together(&self, from: Position, opened: usize) -> Result<Vec<usize>> {
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
            at.batch = at.batch.saturating_add(options.world);
            if at.batch >= self.total_steps() {
                break;
            }
        }
        Ok(files)
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

/// The steps of a rank: the rest of an epoch, then whole ones.
#[derive(Clone, Copy, Debug)]
struct Steps {
    first: Share,
    later: Share,
}

impl Steps {
    /// The epoch of the step with this number, and where in the epoch's share it is.
    fn place(&self, number: u64) -> (u64, Share, u64) {
        match number.checked_sub(self.first.steps()) {
            None => (self.first.epoch(), self.first, number),
            Some(beyond) => {
                let steps = self.later.steps().max(1);
                let epoch = self.first.epoch().saturating_add(1 + beyond / steps);
                (epoch, self.later, beyond % steps)
            }
        }
    }

    /// The step with this number.
    fn at(&self, number: u64) -> Position {
        let (epoch, share, step) = self.place(number);
        let batch = share.batch(step).batch;
        Position { epoch, batch }
    }

    /// Where all ranks go on after so many.
    fn position(&self, number: u64) -> Position {
        let Some(last) = number.checked_sub(1) else {
            return self.first.position(0);
        };
        let (epoch, share, step) = self.place(last);
        let at = share.position(step + 1);
        Position {
            epoch: epoch + (at.epoch - share.epoch()),
            ..at
        }
    }
}

/// Steps in their order.
#[derive(Debug)]
pub struct GraphsIter {
    rest: Steps,
    prefetch: Prefetch<GraphStep>,
}

impl GraphsIter {
    /// Where all ranks go on, given that each has taken as many steps as this one; what was made ahead does not count.
    /// After the last step of an epoch it is the next one.
    #[must_use]
    pub fn position(&self) -> Position {
        self.rest.position(self.prefetch.position())
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
