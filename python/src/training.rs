//! Training loaders: batches of rows, and graphs with some of their configurations, prefetched by the library's
//! threads.
#![allow(unsafe_code, reason = "arrays that steps share are not copied")]

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tsql::arrow::buffer::Buffer as Bytes;
use tsql::arrow::datatypes::ArrowNativeType;
use tsql::optional_setting::OptionalSetting as _;
use tsql::tpugraphs::{
    Form, GraphArrays, GraphStep, GraphsOptions, Pick, Picking, Tensor, TrainingGraphs,
    training_files, training_graphs,
};
use tsql::training::{Position, RowsOptions, Steps, TrainingBatch, TrainingRows};

use crate::buffer::Buffer;
use crate::errors::{argument_error, to_py_err};
use crate::result::Batch;
use crate::runtime::{POLL_INTERVAL, raise_signals, wait};
use crate::store::{Store, json};

/// A batch of rows: epoch, number in the epoch, rows, group sizes, and whether it is padding.
type RowBatch = (u64, u64, Batch, Option<Vec<u64>>, bool);

/// Options of a row loader, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RowLoaderArgs {
    params: Vec<(String, String)>,
    batch_rows: u64,
    group: Option<String>,
    balance: Option<String>,
    shuffle: bool,
    seed: u64,
    drop_last: bool,
    pad: bool,
    rank: u64,
    world: u64,
    prefetch: usize,
    threads: usize,
}

/// Options of a graph loader, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GraphLoaderArgs {
    k: usize,
    pick: String,
    unique: bool,
    seed: u64,
    codes_only: bool,
    split: Option<String>,
    balance: Option<String>,
    shuffle: bool,
    drop_last: bool,
    pad: bool,
    rank: u64,
    world: u64,
    prefetch: usize,
    threads: usize,
}

#[pymethods]
impl Store {
    fn training_rows(
        &self,
        py: Python<'_>,
        sql: String,
        how: RowLoaderArgs,
    ) -> PyResult<RowLoader> {
        let mut options = RowsOptions::default()
            .batch_rows(how.batch_rows)
            .shuffle(how.shuffle)
            .seed(how.seed)
            .drop_last(how.drop_last)
            .pad(how.pad)
            .rank(how.rank, how.world)
            .prefetch(how.prefetch)
            .threads(how.threads)
            .set_if(how.group, RowsOptions::group)
            .set_if(how.balance, RowsOptions::balance);
        for (name, value) in how.params {
            options = options.parameter(name, value);
        }
        let store = self.get(py)?;
        let rows = wait(py, move || async move {
            store.training_rows(&sql, &options).await
        })?;
        Ok(RowLoader(rows))
    }

    fn training_graphs(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        how: GraphLoaderArgs,
    ) -> PyResult<GraphLoader> {
        let pick = match how.pick.as_str() {
            "all" => Pick::All,
            "random" => Pick::Random,
            "best" => Pick::Best,
            "worst" => Pick::Worst,
            "baseline" => Pick::Baseline,
            "gumbel" => Pick::Gumbel,
            "close" => Pick::Close,
            other => {
                let known = "all, random, best, worst, baseline, gumbel, close";
                let reason = format!("no pick named `{other}`\nhint: there are {known}");
                return Err(argument_error(py, "pick", reason));
            }
        };
        let picking = Picking::new(pick, how.k).seed(how.seed).unique(how.unique);
        let form = if how.codes_only {
            Form::Codes
        } else {
            Form::Int8
        };
        let options = GraphsOptions::new(picking)
            .form(form)
            .shuffle(how.shuffle)
            .drop_last(how.drop_last)
            .pad(how.pad)
            .rank(how.rank, how.world)
            .prefetch(how.prefetch)
            .threads(how.threads)
            .set_if(how.split, GraphsOptions::split)
            .set_if(how.balance, GraphsOptions::balance);
        let store = self.get(py)?;
        let graphs = wait(py, move || async move {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            training_graphs(&store, &names, &options).await
        })?;
        Ok(GraphLoader(graphs))
    }

    /// Returns the files of TpuGraphs in the store, as JSON.
    fn training_files(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(
            py,
            &wait(py, move || async move { training_files(&store).await })?,
        )
    }
}

/// Rows of a selection.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct RowLoader(TrainingRows);

#[pymethods]
impl RowLoader {
    fn __len__(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    fn columns(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &crate::result::describe_schema(self.0.schema()))
    }

    fn group_count(&self) -> Option<u64> {
        self.0.group_count()
    }

    /// Returns the batches of an epoch for this rank, with padding.
    fn batch_count(&self, epoch: u64) -> u64 {
        self.0.batch_count(epoch)
    }

    /// Returns the remaining steps of this rank after this number of batches of all ranks.
    fn steps_left(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<u64> {
        let left = self.0.steps_left(Position { epoch, batch });
        left.map_err(|error| to_py_err(py, &error))
    }

    /// Returns the batches of an epoch for all ranks, without padding.
    fn total(&self, epoch: u64) -> u64 {
        self.0.total_batches(epoch)
    }

    fn rows(&self, py: Python<'_>, indices: Vec<u64>) -> PyResult<Batch> {
        let rows = py.detach(|| self.0.rows(&indices));
        rows.map(Batch).map_err(|error| to_py_err(py, &error))
    }

    fn batch(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<RowBatch> {
        let made = py.detach(|| self.0.batch(Position { epoch, batch }));
        made.map(row_batch).map_err(|error| to_py_err(py, &error))
    }

    fn for_rank(&self, py: Python<'_>, rank: u64, world: u64) -> PyResult<Self> {
        let rows = self.0.for_rank(rank, world);
        rows.map(Self).map_err(|error| to_py_err(py, &error))
    }

    /// Starts the rest of an epoch, after this number of batches of all ranks.
    fn start(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<RowSteps> {
        let rows = self.0.iter(Position { epoch, batch });
        let rows = rows.map_err(|error| to_py_err(py, &error))?;
        Ok(RowSteps(Mutex::new(rows)))
    }
}

/// Waits for the next step and handles signals meanwhile; `None` at the end.
fn next_step<T: Send + 'static>(py: Python<'_>, steps: &Mutex<Steps<T>>) -> PyResult<Option<T>> {
    loop {
        let waited = py.detach(|| {
            let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
            steps.wait(POLL_INTERVAL).then(|| steps.next())
        });
        if let Some(next) = waited {
            return next.transpose().map_err(|error| to_py_err(py, &error));
        }
        raise_signals(py)?;
    }
}

/// Iterator of the rest of an epoch of rows.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct RowSteps(Mutex<Steps<TrainingBatch>>);

#[pymethods]
impl RowSteps {
    /// Returns the next batch; `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<RowBatch>> {
        Ok(next_step(py, &self.0)?.map(row_batch))
    }
}

fn row_batch(batch: TrainingBatch) -> RowBatch {
    let Position {
        epoch,
        batch: number,
    } = batch.position;
    let rows = Batch(batch.rows);
    (epoch, number, rows, batch.group_sizes, batch.is_padding)
}

/// Graphs of a selection of files.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct GraphLoader(TrainingGraphs);

#[pymethods]
impl GraphLoader {
    /// Returns ids and splits of the files, as JSON.
    fn files(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &self.0.files())
    }

    /// Returns the steps of an epoch for this rank, with padding.
    fn step_count(&self) -> u64 {
        self.0.step_count()
    }

    /// Returns the remaining steps of this rank after this number of steps of all ranks.
    fn steps_left(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<u64> {
        let left = self.0.steps_left(Position { epoch, batch });
        left.map_err(|error| to_py_err(py, &error))
    }

    /// Returns the steps of an epoch for all ranks, without padding.
    fn total(&self) -> u64 {
        self.0.total_steps()
    }

    fn for_rank(&self, py: Python<'_>, rank: u64, world: u64) -> PyResult<Self> {
        let graphs = self.0.for_rank(rank, world);
        graphs.map(Self).map_err(|error| to_py_err(py, &error))
    }

    fn step<'py>(&self, py: Python<'py>, epoch: u64, batch: u64) -> PyResult<Bound<'py, PyDict>> {
        let made = py.detach(|| self.0.step(Position { epoch, batch }));
        arrays(py, made.map_err(|error| to_py_err(py, &error))?)
    }

    /// Computes a step and returns only its number of samples, to time the library call alone.
    fn compute_step(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<usize> {
        let made = py.detach(|| self.0.step(Position { epoch, batch }));
        let made = made.map_err(|error| to_py_err(py, &error))?;
        Ok(made.samples.values.len())
    }

    /// Starts the rest of an epoch, after this number of steps of all ranks.
    fn start(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<GraphSteps> {
        let graphs = self.0.iter(Position { epoch, batch });
        let graphs = graphs.map_err(|error| to_py_err(py, &error))?;
        Ok(GraphSteps(Mutex::new(graphs)))
    }
}

/// Iterator of the rest of an epoch of graphs.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct GraphSteps(Mutex<Steps<GraphStep>>);

#[pymethods]
impl GraphSteps {
    /// Returns the next step; `None` at the end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let next = next_step(py, &self.0)?;
        next.map(|step| arrays(py, step)).transpose()
    }
}

/// Returns the fields of a step by name; arrays are `(bytes, dtype, shape)`.
fn arrays(py: Python<'_>, step: GraphStep) -> PyResult<Bound<'_, PyDict>> {
    let of = PyDict::new(py);
    of.set_item("epoch", step.position.epoch)?;
    of.set_item("number", step.position.batch)?;
    of.set_item("is_padding", step.is_padding)?;
    of.set_item("id", step.id)?;
    of.set_item("split", step.split)?;
    of.set_item("graph_id", step.graph_id)?;
    of.set_item("is_layout", step.is_layout)?;
    of.set_item("samples", owned_array(step.samples, "<u4"))?;
    of.set_item("config_ids", owned_array(step.config_ids, "<i8"))?;
    of.set_item("runtimes_ns", owned_array(step.runtimes_ns, "<i8"))?;
    of.set_item("normalizers_ns", owned_array(step.normalizers_ns, "<i8"))?;
    of.set_item("codes", owned_array(step.codes, "<u2"))?;
    of.set_item("layouts", owned_array(step.layouts, "<i1"))?;
    of.set_item("tiles", owned_array(step.tiles, "<f4"))?;
    let graph = &step.graph;
    of.set_item(
        "node_features",
        shared_array(graph, &graph.node_features, "<f4"),
    )?;
    of.set_item("opcodes", shared_array(graph, &graph.opcodes, "<u1"))?;
    of.set_item("edges", shared_array(graph, &graph.edges, "<i8"))?;
    of.set_item("slots", shared_array(graph, &graph.slots, "<i8"))?;
    of.set_item("splits", shared_array(graph, &graph.splits, "<i8"))?;
    of.set_item(
        "group_of_slot",
        shared_array(graph, &graph.group_of_slot, "<u4"),
    )?;
    of.set_item(
        "layouts_of_code",
        shared_array(graph, &graph.layouts, "<i1"),
    )?;
    Ok(of)
}

type ArrayParts = (Buffer, &'static str, Vec<usize>);

/// Converts an owned array of a step; it is writable.
fn owned_array<T: ArrowNativeType>(tensor: Tensor<T>, dtype: &'static str) -> ArrayParts {
    (Buffer::from_vec(tensor.values), dtype, tensor.shape)
}

/// Converts an array of a graph that steps share; it is read-only.
fn shared_array<T: ArrowNativeType>(
    graph: &Arc<GraphArrays>,
    tensor: &Tensor<T>,
    dtype: &'static str,
) -> ArrayParts {
    let values = NonNull::from(tensor.values.as_slice()).cast();
    let length = size_of_val(tensor.values.as_slice());
    // SAFETY: the values belong to the graph, which the bytes keep alive, and are never modified.
    let bytes = unsafe { Bytes::from_custom_allocation(values, length, Arc::clone(graph) as _) };
    (Buffer::read_only(bytes), dtype, tensor.shape.clone())
}
