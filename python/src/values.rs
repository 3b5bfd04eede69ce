//! Converts parameters from Python, and cells of results to Python.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};
use tsql::arrow::array::{Array, AsArray as _};
use tsql::arrow::datatypes::{
    self as types, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, TimeUnit, i256,
};
use tsql::datafusion::common::ScalarValue;

use crate::errors::argument_error;

/// Methods by which arrays, series and scalars of NumPy, pandas, polars and pyarrow become plain Python values.
const OWN_VALUES: [&str; 4] = ["tolist", "to_list", "to_pylist", "as_py"];

/// Type names of missing values in pandas.
const MISSING: [&str; 2] = ["NAType", "NaTType"];

/// Converts a parameter: a number, decimal, text, bytes, date, time, a list of these (or an array, series or set),
/// or `None`.
///
/// # Errors
/// `tsql.errors.Argument` for anything else.
pub(crate) fn parameter(given: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let py = given.py();
    let kind = given.get_type().name()?;
    if given.is_none() || MISSING.iter().any(|missing| kind == *missing) {
        return Ok(ScalarValue::Null);
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(ScalarValue::Boolean(Some(flag.is_true())));
    }
    if given.is_instance_of::<PyInt>() {
        return match given.extract::<i64>() {
            Ok(number) => Ok(ScalarValue::Int64(Some(number))),
            Err(_) => given.extract().map_or_else(
                |_| {
                    let reason = format!("{given} is not a 64-bit integer\nhint: pass a float, or text that the query casts");
                    Err(argument_error(py, "params", reason))
                },
                |number| Ok(ScalarValue::UInt64(Some(number))),
            ),
        };
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(ScalarValue::Float64(Some(given.extract()?)));
    }
    if given.is_instance_of::<PyString>() {
        return Ok(ScalarValue::Utf8(Some(given.extract()?)));
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(ScalarValue::Binary(Some(bytes.as_bytes().to_vec())));
    }
    if given.hasattr("isoformat")? {
        return date_or_time(given);
    }
    if given.is_instance(&py.import("decimal")?.getattr("Decimal")?)? {
        return decimal(given);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        return list_value(given);
    }
    if let Some(time) = numpy_time(given)? {
        return parameter(&time);
    }
    for own in OWN_VALUES {
        if given.hasattr(own)? {
            return parameter(&given.call_method0(own)?);
        }
    }
    let is_set = given.is_instance_of::<PySet>() || given.is_instance_of::<PyFrozenSet>();
    if is_set || kind == "range" {
        return list_value(given);
    }
    let reason = format!(
        "a value of type `{kind}` is not a parameter\nhint: pass numbers, decimals, text, bytes, dates, times, and lists or arrays of these"
    );
    Err(argument_error(py, "params", reason))
}

/// Converts NumPy times to `datetime`; their own `tolist` does so only for microseconds and longer units.
fn numpy_time<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !given.hasattr("dtype")? || !given.hasattr("astype")? {
        return Ok(None);
    }
    let dtype = given.getattr("dtype")?;
    let name = dtype.str()?;
    if !name.to_str()?.starts_with("datetime64[ns") || !given.hasattr("tolist")? {
        return Ok(None);
    }
    let micros = given.call_method1("astype", ("datetime64[us]",));
    // A series with a time zone converts its times itself.
    micros.map_or(Ok(None), |micros| micros.call_method0("tolist").map(Some))
}

fn list_value(given: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let py = given.py();
    let mut values = Vec::new();
    for one in given.try_iter()? {
        values.push(parameter(&one?)?);
    }
    let known = values.iter().map(ScalarValue::data_type);
    let of = known.reduce(common_type);
    let of = of.unwrap_or(DataType::Null);
    let cast = values.iter().map(|value| {
        let is_alike = match (value.data_type(), &of) {
            (DataType::Null, _) => true,
            (own, of) => own == *of || own.is_numeric() && of.is_numeric(),
        };
        let cast = value.cast_to(&of).ok().filter(|_| is_alike);
        cast.ok_or_else(|| {
            let reason = format!("the list has values of {of} and `{value}`, expected one type");
            argument_error(py, "params", reason)
        })
    });
    let values = cast.collect::<PyResult<Vec<_>>>()?;
    let list = ScalarValue::new_list(&values, &of, true);
    Ok(ScalarValue::List(list))
}

/// Returns the type of a list of values of both types; the first type if there is none.
fn common_type(one: DataType, other: DataType) -> DataType {
    match (&one, &other) {
        (DataType::Null, _) | (DataType::Int64, DataType::UInt64) => return other,
        (_, DataType::Float64) if one.is_numeric() => return other,
        _ => {}
    }
    let is_decimal = one.is_decimal() || other.is_decimal();
    match (decimal_digits(&one), decimal_digits(&other)) {
        (Some((whole, scale)), Some((other_whole, other_scale))) if is_decimal => {
            decimal_type(whole.max(other_whole), scale.max(other_scale))
        }
        _ => one,
    }
}

/// Returns the numbers of digits before and after the point of an integer or a decimal.
fn decimal_digits(of: &DataType) -> Option<(u8, i8)> {
    match of {
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            Some((precision.saturating_sub(scale.unsigned_abs()), *scale))
        }
        _ => None,
    }
}

/// Returns the smallest type of decimals with these numbers of digits before and after the point. It has fewer
/// digits before the point if there is none.
fn decimal_type(whole: u8, scale: i8) -> DataType {
    let precision = whole.saturating_add(scale.unsigned_abs());
    if precision <= DECIMAL128_MAX_PRECISION {
        return DataType::Decimal128(precision, scale);
    }
    DataType::Decimal256(precision.min(DECIMAL256_MAX_PRECISION), scale)
}

/// Converts a `Decimal`, with all of its digits.
fn decimal(given: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let invalid = |reason: &str| {
        let reason =
            format!("`{given}` {reason}\nhint: pass a float, or text that the query casts");
        argument_error(given.py(), "params", reason)
    };
    let is_finite: bool = given.call_method0("is_finite")?.extract()?;
    if !is_finite {
        return Err(invalid("is not a decimal number"));
    }
    let limit = usize::from(DECIMAL256_MAX_PRECISION);
    let (is_negative, digits, exponent): (u8, Vec<u8>, i64) =
        given.call_method0("as_tuple")?.extract()?;
    let zeros = usize::try_from(exponent.max(0)).unwrap_or(usize::MAX);
    let scale = usize::try_from(exponent.min(0).unsigned_abs()).unwrap_or(usize::MAX);
    let precision = digits.len().saturating_add(zeros).max(scale);
    let sizes = (u8::try_from(precision), i8::try_from(scale));
    let (Ok(precision), Ok(scale), true) = (sizes.0, sizes.1, precision <= limit) else {
        return Err(invalid("has more than 76 digits"));
    };
    let mut text = String::from(if is_negative == 1 { "-" } else { "" });
    text.extend(digits.into_iter().map(|digit| char::from(b'0' + digit)));
    text.extend(std::iter::repeat_n('0', zeros));
    let value = if precision <= DECIMAL128_MAX_PRECISION {
        let value = text.parse().ok();
        value.map(|value| ScalarValue::Decimal128(Some(value), precision, scale))
    } else {
        let value = i256::from_string(&text);
        value.map(|value| ScalarValue::Decimal256(Some(value), precision, scale))
    };
    value.ok_or_else(|| invalid("is not a decimal number"))
}

/// Converts a date, a time of day, or both.
fn date_or_time(given: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let py = given.py();
    let text: String = given.call_method0("isoformat")?.extract()?;
    let wanted = match (given.hasattr("year")?, given.hasattr("hour")?) {
        (true, true) => DataType::Timestamp(TimeUnit::Microsecond, None),
        (true, false) => DataType::Date32,
        // The type of `TIME '10:00:00'`: the engine compares no times of different units.
        (false, _) => DataType::Time64(TimeUnit::Nanosecond),
    };
    let is_time = matches!(wanted, DataType::Time64(_));
    if is_time && given.hasattr("tzinfo")? && !given.getattr("tzinfo")?.is_none() {
        let reason = format!("`{text}` is a time of day with a time zone\nhint: pass a datetime");
        return Err(argument_error(py, "params", reason));
    }
    let value = ScalarValue::try_from_string(text.clone(), &wanted);
    value.map_err(|_| argument_error(py, "params", format!("`{text}` is not a date or time")))
}

/// Converts a cell to a Python value; times become `datetime` or `time`, decimals `Decimal`.
pub(crate) fn cell<'py>(
    py: Python<'py>,
    column: &dyn Array,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) || column.data_type() == &DataType::Null {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! number {
        ($kind:ty) => {
            column
                .as_primitive::<$kind>()
                .value(row)
                .into_pyobject(py)?
                .into_any()
        };
    }
    Ok(match column.data_type() {
        DataType::Boolean => {
            let flag = column.as_boolean().value(row);
            PyBool::new(py, flag).to_owned().into_any()
        }
        DataType::Int8 => number!(types::Int8Type),
        DataType::Int16 => number!(types::Int16Type),
        DataType::Int32 => number!(types::Int32Type),
        DataType::Int64 => number!(types::Int64Type),
        DataType::UInt8 => number!(types::UInt8Type),
        DataType::UInt16 => number!(types::UInt16Type),
        DataType::UInt32 => number!(types::UInt32Type),
        DataType::UInt64 => number!(types::UInt64Type),
        DataType::Float16 => {
            let number = column.as_primitive::<types::Float16Type>().value(row);
            number.to_f32().into_pyobject(py)?.into_any()
        }
        DataType::Float32 => number!(types::Float32Type),
        DataType::Float64 => number!(types::Float64Type),
        DataType::Utf8 => PyString::new(py, column.as_string::<i32>().value(row)).into_any(),
        DataType::LargeUtf8 => PyString::new(py, column.as_string::<i64>().value(row)).into_any(),
        DataType::Utf8View => PyString::new(py, column.as_string_view().value(row)).into_any(),
        DataType::Binary => PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any(),
        DataType::LargeBinary => PyBytes::new(py, column.as_binary::<i64>().value(row)).into_any(),
        DataType::BinaryView => PyBytes::new(py, column.as_binary_view().value(row)).into_any(),
        DataType::FixedSizeBinary(_) => {
            PyBytes::new(py, column.as_fixed_size_binary().value(row)).into_any()
        }
        DataType::List(_) => cells(py, column.as_list::<i32>().value(row).as_ref())?,
        DataType::LargeList(_) => cells(py, column.as_list::<i64>().value(row).as_ref())?,
        DataType::FixedSizeList(..) => cells(py, column.as_fixed_size_list().value(row).as_ref())?,
        DataType::Struct(fields) => {
            let (row_of, of) = (column.as_struct(), PyDict::new(py));
            for (field, values) in fields.iter().zip(row_of.columns()) {
                of.set_item(field.name(), cell(py, values.as_ref(), row)?)?;
            }
            of.into_any()
        }
        DataType::Map(..) => {
            let (entries, of) = (column.as_map().value(row), PyDict::new(py));
            let (keys, values) = (entries.column(0), entries.column(1));
            for at in 0..entries.len() {
                of.set_item(cell(py, keys.as_ref(), at)?, cell(py, values.as_ref(), at)?)?;
            }
            of.into_any()
        }
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => time_cell(py, column, row)?,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => {
            let decimal = py.import("decimal")?.getattr("Decimal")?;
            decimal.call1((display_text(py, column, row)?,))?
        }
        _ => PyString::new(py, &display_text(py, column, row)?).into_any(),
    })
}

/// Converts the cells of a column.
pub(crate) fn cells<'py>(py: Python<'py>, column: &dyn Array) -> PyResult<Bound<'py, PyAny>> {
    if let DataType::Dictionary(_, values) = column.data_type() {
        let plain = tsql::arrow::compute::cast(column, values);
        let plain = plain.map_err(|error| argument_error(py, "column", error.to_string()))?;
        return cells(py, plain.as_ref());
    }
    let list = PyList::empty(py);
    for row in 0..column.len() {
        list.append(cell(py, column, row)?)?;
    }
    Ok(list.into_any())
}

fn time_cell<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("datetime")?;
    let class = match column.data_type() {
        DataType::Timestamp(..) | DataType::Date64 => module.getattr("datetime")?,
        DataType::Time32(_) | DataType::Time64(_) => module.getattr("time")?,
        _ => module.getattr("date")?,
    };
    class.call_method1("fromisoformat", (display_text(py, column, row)?,))
}

fn display_text(py: Python<'_>, column: &dyn Array, row: usize) -> PyResult<String> {
    let text = tsql::arrow::util::display::array_value_to_string(column, row);
    text.map_err(|error| argument_error(py, "column", error.to_string()))
}
