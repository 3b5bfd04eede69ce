//! Converts steps of several files to one Arrow stream: all batches have the same columns, whatever the sizes
//! of graphs.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, PrimitiveArray, RecordBatch,
    StringArray, UInt32Array,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float32Type, Int8Type, Schema, SchemaRef, UInt16Type,
};
use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use tsql_error::{Error, Result};

use super::step::{GraphStep, Tensor};
use super::table::Form;

/// Columns of a stream of steps.
#[derive(Clone, Debug)]
pub struct StepTable {
    schema: SchemaRef,
    form: Form,
    is_layout: bool,
}

impl StepTable {
    /// Creates the columns for layout or tile files: a row for each configuration of a step, with `id` of the
    /// file, `epoch`, `step`, `sample` (index in the file), `config_id`, `runtime_ns` and `baseline_ns` (NULL
    /// if withheld), and the list `node_config_feat` (slots * 18), `config_feat` (24) or `codes` (groups). With
    /// codes there is also `layouts`: the table that they index, in the notation of `configurations.sketch`,
    /// once for each file.
    ///
    /// # Errors
    /// [`Error::Argument`] for codes of tiles, which do not exist, and for layouts as floats.
    pub fn new(is_layout: bool, form: Form) -> Result<Self> {
        let (name, item) = match (is_layout, form) {
            (true, Form::Codes) => ("codes", DataType::UInt16),
            (true, Form::Int8) => ("node_config_feat", DataType::Int8),
            (false, Form::Int8 | Form::Float32) => ("config_feat", DataType::Float32),
            (false, Form::Codes) => return Err(form_error("tile files have no codes")),
            (true, Form::Float32) => {
                return Err(form_error(
                    "several layout files support only int8 or codes",
                ));
            }
        };
        let field = |name: &str, of: DataType| Field::new(name, of, name.ends_with("_ns"));
        let list = DataType::List(Arc::new(Field::new_list_field(item, false)));
        let mut fields = vec![
            field("id", text_type()),
            field("epoch", DataType::Int64),
            field("step", DataType::Int64),
            field("sample", DataType::UInt32),
            field("config_id", DataType::Int64),
            field("runtime_ns", DataType::Int64),
            field("baseline_ns", DataType::Int64),
            field(name, list),
        ];
        if form == Form::Codes {
            fields.push(field("layouts", text_type()));
        }
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            form,
            is_layout,
        })
    }

    /// Returns the columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the rows of a step. Its numbers are not copied.
    ///
    /// # Errors
    /// [`Error::Argument`] if the step is of the other kind of files.
    pub fn batch(&self, step: GraphStep) -> Result<RecordBatch> {
        if step.is_layout != self.is_layout {
            return Err(form_error(
                "tile files and layout files cannot be in one stream",
            ));
        }
        let rows = step.samples.values.len();
        let number = |number: u64| Int64Array::from(vec![number.cast_signed(); rows]);
        let known = |times: Vec<i64>, withheld: i64| {
            let times = times
                .into_iter()
                .map(move |time| Some(time).filter(|time| *time != withheld));
            times.collect::<Int64Array>()
        };
        let baselines = if self.is_layout {
            vec![1; rows]
        } else {
            step.normalizers_ns.values
        };
        let values = match (self.is_layout, self.form) {
            (true, Form::Codes) => list_column::<UInt16Type>(rows, step.codes),
            (true, _) => list_column::<Int8Type>(rows, step.layouts),
            (false, _) => list_column::<Float32Type>(rows, step.tiles),
        };
        let mut columns: Vec<ArrayRef> = vec![
            repeat_text(&step.id, rows)?,
            Arc::new(number(step.position.epoch)),
            Arc::new(number(step.position.batch)),
            Arc::new(UInt32Array::from(step.samples.values)),
            Arc::new(Int64Array::from(step.config_ids.values)),
            Arc::new(known(step.runtimes_ns.values, 0)),
            Arc::new(known(baselines, 1)),
            values.map_err(arrow_error)?,
        ];
        if self.form == Form::Codes {
            columns.push(repeat_text(&step.graph.sketch, rows)?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow_error)
    }
}

/// Type of a text that is repeated in many rows.
fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn repeat_text(text: &str, rows: usize) -> Result<ArrayRef> {
    let keys = Int32Array::from(vec![0; rows]);
    let values = Arc::new(StringArray::from(vec![text]));
    let repeated = DictionaryArray::try_new(keys, values).map_err(arrow_error)?;
    Ok(Arc::new(repeated))
}

/// Returns a list column with one row per configuration, whatever the number of dimensions.
fn list_column<T: ArrowPrimitiveType>(
    rows: usize,
    numbers: Tensor<T::Native>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let width = numbers.values.len() / rows.max(1);
    if i32::try_from(numbers.values.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(numbers.values.len()));
    }
    let offsets = OffsetBuffer::<i32>::from_repeated_length(width, rows);
    let values: ScalarBuffer<T::Native> = numbers.values.into();
    let item = Arc::new(Field::new_list_field(T::DATA_TYPE, false));
    let values = Arc::new(PrimitiveArray::<T>::try_new(values, None)?);
    Ok(Arc::new(ListArray::try_new(item, offsets, values, None)?))
}

fn form_error(reason: &str) -> Error {
    Error::Argument {
        name: "form",
        reason: reason.to_owned(),
    }
}

fn arrow_error(error: ArrowError) -> Error {
    Error::Query(DataFusionError::from(error))
}
