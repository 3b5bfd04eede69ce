//! A query result: planned at first, and computed once, when it is read.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use tsql::arrow::array::{AsArray as _, RecordBatch, RecordBatchIterator};
use tsql::arrow::compute::concat_batches;
use tsql::arrow::datatypes::{DataType, Schema, SchemaRef};
use tsql::datafusion::common::TableReference;
use tsql::datafusion::dataframe::DataFrame;
use tsql::datafusion::prelude::SessionContext;
use tsql::{Error, query, schema};

use crate::arrow::{batch_capsules, import_schema, schema_capsule, stream_capsule};
use crate::columns::column;
use crate::errors::{argument_error, closed_error, to_py_err};
use crate::facts::Column;
use crate::rows::{RowStream, Stream, cast};
use crate::runtime::wait;
use crate::store::json;
use crate::values::cells;

/// State of a result.
enum State {
    /// Not read yet.
    Planned(Box<DataFrame>),
    /// Batches that were peeked at, and the stream of the others.
    Begun(Vec<RecordBatch>, RowStream),
    /// Being read batch by batch, with a requested batch size.
    Read(Vec<RecordBatch>, RowStream, Option<usize>),
    /// Read completely.
    Taken,
}

/// The result of a query.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct QueryResult {
    schema: SchemaRef,
    columns: Vec<Column>,
    state: Mutex<State>,
    /// The query, for its plan.
    explained: DataFrame,
}

impl QueryResult {
    pub(crate) fn new(frame: DataFrame) -> Self {
        let schema = query::schema_with_units(&frame);
        Self {
            columns: describe_columns(&frame, &schema),
            schema,
            explained: frame.clone(),
            state: Mutex::new(State::Planned(Box::new(frame))),
        }
    }

    /// Returns the query.
    pub(crate) fn frame(&self) -> DataFrame {
        self.explained.clone()
    }

    /// Locks the state of the result.
    ///
    /// # Errors
    /// `tsql.errors.Closed` while another thread reads.
    fn state(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(std::sync::TryLockError::Poisoned(state)) => Ok(PoisonError::into_inner(state)),
            Err(std::sync::TryLockError::WouldBlock) => {
                Err(closed_error(py, "another thread reads this result"))
            }
        }
    }

    /// Takes the rows, which can be read only once.
    fn take(&self, py: Python<'_>) -> PyResult<(Vec<RecordBatch>, RowStream)> {
        let mut state = self.state(py)?;
        if let State::Read(..) = &*state {
            return Err(closed_error(py, "this result is being read batch by batch"));
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Planned(frame) => {
                let rows = RowStream::start(*frame, std::sync::Arc::clone(&self.schema))?;
                Ok((Vec::new(), rows))
            }
            State::Begun(read, rows) => Ok((read, rows)),
            State::Read(..) | State::Taken => Err(closed_error(
                py,
                "this result was read already\nhint: run the query again, or store the output of `arrow` or `rows`",
            )),
        }
    }

    /// Buffers batches until they have more than this number of rows; the rows can still be read. Returns the
    /// number of buffered rows; `None` if the result was read.
    fn buffer_rows(
        &self,
        py: Python<'_>,
        rows_at_most: usize,
    ) -> PyResult<Option<(usize, MutexGuard<'_, State>)>> {
        let mut state = self.state(py)?;
        if matches!(&*state, State::Planned(_)) {
            drop(state);
            let (read, rows) = self.take(py)?;
            state = self.state(py)?;
            *state = State::Begun(read, rows);
        }
        let State::Begun(read, rows) = &mut *state else {
            return Ok(None);
        };
        let mut count: usize = read.iter().map(RecordBatch::num_rows).sum();
        while count <= rows_at_most {
            let Some(batch) = next(py, rows)? else { break };
            count += batch.num_rows();
            read.push(batch);
        }
        Ok(Some((count, state)))
    }

    /// Reads all rows into one batch.
    fn read_all(&self, py: Python<'_>) -> PyResult<RecordBatch> {
        let (mut batches, mut rows) = self.take(py)?;
        while let Some(batch) = rows.next(py)? {
            batches.push(batch.map_err(|error| to_py_err(py, &error))?);
        }
        let schema = rows.schema();
        let whole = py.detach(|| match batches.as_slice() {
            [one] => Ok(one.clone()),
            many => concat_batches(&schema, many),
        });
        whole.map_err(|error| argument_error(py, "result", error.to_string()))
    }
}

#[pymethods]
impl QueryResult {
    /// Returns name, type, unit, documentation and nullability of each column, as JSON.
    fn columns(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &self.columns)
    }

    fn schema_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (wanted=None))]
    fn stream<'py>(
        &self,
        py: Python<'py>,
        wanted: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let wanted = wanted.as_ref().map(import_schema).transpose()?;
        let (read, rows) = self.take(py)?;
        let stream = Stream::new(read, rows, wanted);
        let stream =
            stream.map_err(|error| argument_error(py, "requested_schema", error.to_string()))?;
        stream_capsule(py, Box::new(stream))
    }

    /// Starts to read batch by batch, of `batch_rows` rows if given. The result cannot be read in another way
    /// then.
    #[pyo3(signature = (batch_rows=None))]
    fn begin(&self, py: Python<'_>, batch_rows: Option<usize>) -> PyResult<()> {
        let (read, rows) = self.take(py)?;
        *self.state(py)? = State::Read(read, rows, batch_rows);
        Ok(())
    }

    /// Counts the rows; they can still be read.
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        let held = self.buffer_rows(py, usize::MAX)?;
        held.map(|(count, _state)| count).ok_or_else(|| {
            closed_error(
                py,
                "the rows of this result are being read, or were read already",
            )
        })
    }

    /// Returns the next batch after `begin`; `None` after the last one.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let mut state = self.state(py)?;
        let State::Read(read, rows, batch_rows) = &mut *state else {
            return Ok(None);
        };
        let next = match *batch_rows {
            Some(wanted) => next_rows(py, read, rows, wanted),
            None if !read.is_empty() => Ok(Some(read.remove(0))),
            None => next(py, rows),
        };
        if !matches!(next, Ok(Some(_))) {
            *state = State::Taken;
        }
        Ok(next?.map(Batch))
    }

    /// Returns the first rows, which can still be read: the batch, and whether there are more; `None` if the
    /// result was read.
    fn peek(&self, py: Python<'_>, rows_at_most: usize) -> PyResult<Option<(Batch, bool)>> {
        let Some((count, state)) = self.buffer_rows(py, rows_at_most)? else {
            return Ok(None);
        };
        let State::Begun(read, rows) = &*state else {
            return Ok(None);
        };
        let mut wanted = rows_at_most;
        let first = read.iter().map(|batch| {
            let taken = wanted.min(batch.num_rows());
            wanted -= taken;
            batch.slice(0, taken)
        });
        let first: Vec<RecordBatch> = first.collect();
        let first = concat_batches(&rows.schema(), first.iter());
        let first = first.map_err(|error| argument_error(py, "result", error.to_string()))?;
        Ok(Some((Batch(first), count > rows_at_most)))
    }

    /// Returns each column for NumPy or torch: see `Batch.column`.
    #[pyo3(signature = (writable=false))]
    fn arrays<'py>(&self, py: Python<'py>, writable: bool) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, &self.read_all(py)?, writable)
    }

    /// Returns all rows as lists of values, one list for each column.
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Batch(self.read_all(py)?).lists(py)
    }

    /// Returns the plan as text; with `analyze` the query runs, and the text has the metrics of each operator.
    #[pyo3(signature = (analyze=false))]
    fn explain(&self, py: Python<'_>, analyze: bool) -> PyResult<String> {
        let frame = self.explained.clone();
        let batches = wait(py, move || async move {
            let frame = frame.explain(false, analyze).map_err(Error::Query)?;
            frame.collect().await.map_err(Error::Query)
        })?;
        let mut text = String::new();
        for batch in batches {
            let Some(plans) = batch.columns().last() else {
                continue;
            };
            let plans = plans.as_string_opt::<i32>();
            for plan in plans.into_iter().flatten().flatten() {
                text.push_str(plan.trim_end());
                text.push('\n');
            }
        }
        Ok(text)
    }
}

fn next(py: Python<'_>, rows: &mut RowStream) -> PyResult<Option<RecordBatch>> {
    let next = rows.next(py)?.transpose();
    next.map_err(|error| to_py_err(py, &error))
}

/// Returns the next `wanted` rows, or the remaining ones; `read` are batches that were read before, and rests
/// of batches.
fn next_rows(
    py: Python<'_>,
    read: &mut Vec<RecordBatch>,
    rows: &mut RowStream,
    wanted: usize,
) -> PyResult<Option<RecordBatch>> {
    let mut count: usize = read.iter().map(RecordBatch::num_rows).sum();
    while count < wanted {
        let Some(batch) = next(py, rows)? else { break };
        count += batch.num_rows();
        read.push(batch);
    }
    if count == 0 {
        return Ok(None);
    }
    let (mut taken, mut missing) = (Vec::new(), wanted);
    let mut left = Vec::new();
    for batch in read.drain(..) {
        let part = missing.min(batch.num_rows());
        missing -= part;
        taken.push(batch.slice(0, part));
        if part < batch.num_rows() {
            left.push(batch.slice(part, batch.num_rows() - part));
        }
    }
    *read = left;
    let whole = concat_batches(&rows.schema(), taken.iter());
    let whole = whole.map_err(|error| argument_error(py, "batch_rows", error.to_string()))?;
    Ok(Some(whole))
}

/// Some rows of a result.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Batch(pub(crate) RecordBatch);

impl Batch {
    /// Returns the rows in the types that a consumer requests.
    fn cast(&self, py: Python<'_>, wanted: Option<Bound<'_, PyAny>>) -> PyResult<RecordBatch> {
        let Some(wanted) = wanted else {
            return Ok(self.0.clone());
        };
        cast(&self.0, &import_schema(&wanted)?)
            .map_err(|error| argument_error(py, "requested_schema", error.to_string()))
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn columns(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &describe_schema(self.0.schema_ref()))
    }

    fn schema_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.0.schema_ref())
    }

    /// Exports the rows as one array, in the requested types.
    #[pyo3(signature = (wanted=None))]
    fn array_capsules<'py>(
        &self,
        py: Python<'py>,
        wanted: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        batch_capsules(py, &self.cast(py, wanted)?)
    }

    /// Exports the rows as a stream of one batch, in the requested types.
    #[pyo3(signature = (wanted=None))]
    fn stream<'py>(
        &self,
        py: Python<'py>,
        wanted: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batch = self.cast(py, wanted)?;
        let schema = batch.schema();
        stream_capsule(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }

    /// Returns each column for NumPy or torch.
    #[pyo3(signature = (writable=false))]
    fn arrays<'py>(&self, py: Python<'py>, writable: bool) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, &self.0, writable)
    }

    /// Returns all rows as lists of values, one list for each column.
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let lists = PyList::empty(py);
        for column in self.0.columns() {
            lists.append(cells(py, column.as_ref())?)?;
        }
        Ok(lists)
    }
}

fn arrays<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
    writable: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    for (field, values) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        arrays.set_item(field.name(), column(py, values, writable)?)?;
    }
    Ok(arrays)
}

/// Describes the columns of a result, with their units. Unmodified columns of a table of the store also have
/// its documentation.
fn describe_columns(frame: &DataFrame, schema: &Schema) -> Vec<Column> {
    let mut columns = describe_schema(schema);
    for (column, (table, field)) in columns.iter_mut().zip(frame.schema().iter()) {
        let known = table.and_then(|table| column_doc(table.table(), field.name()));
        column.doc = known.unwrap_or_default();
    }
    columns
}

/// Returns the documentation of a column of a table or view.
fn column_doc(table: &str, name: &str) -> Option<String> {
    let of = |column: &schema::Column| column.doc.clone();
    let relation = schema::relation(table)?;
    let mut columns = relation.shown_columns();
    columns.find(|column| column.name == name).map(of)
}

pub(crate) fn describe_schema(schema: &Schema) -> Vec<Column> {
    let fields = schema.fields().iter().map(|field| Column {
        name: field.name().clone(),
        type_name: match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
            other => other.to_string(),
        },
        unit: field.metadata().get("unit").cloned(),
        is_nullable: field.is_nullable(),
        doc: String::new(),
    });
    fields.collect()
}

/// Registers rows of a program as a table of a session.
pub(crate) fn register(
    py: Python<'_>,
    context: &SessionContext,
    name: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (schema, batches) = crate::arrow::import_rows(given)?;
    let table = tsql::datafusion::datasource::MemTable::try_new(schema, vec![batches]);
    let table = table.map_err(|error| argument_error(py, "tables", error.to_string()))?;
    // The name is used literally: quotes and dots are not syntax.
    let name = TableReference::bare(name);
    let registered = context.register_table(name, std::sync::Arc::new(table));
    registered.map_err(|error| argument_error(py, "tables", error.to_string()))?;
    Ok(())
}
