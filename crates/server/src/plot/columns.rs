//! Conversion of Arrow columns to chart columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use tsql_error::{Error, Result};
use tsql_plot::{Categories, Column, ColumnKind, ColumnValues};

/// Field metadata key of a column's unit.
const UNIT: &str = "unit";

/// Kind of a column in a chart. Ids are hashes and count as names.
pub(super) fn column_kind(field: &Field) -> ColumnKind {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        data_type => data_type,
    };
    match data_type {
        data_type if data_type.is_integer() && field.name().ends_with("_id") => ColumnKind::Word,
        data_type if data_type.is_numeric() => ColumnKind::Number,
        DataType::Null => ColumnKind::Number,
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => ColumnKind::Time,
        _ => ColumnKind::Word,
    }
}

/// Creates a column without rows.
pub(super) fn empty_column(field: &Field) -> Column {
    Column {
        name: field.name().clone(),
        unit: field.metadata().get(UNIT).cloned(),
        values: match column_kind(field) {
            ColumnKind::Number => ColumnValues::Numbers(Vec::new()),
            ColumnKind::Time => ColumnValues::Times(Vec::new()),
            ColumnKind::Word => ColumnValues::Words(Categories::default()),
        },
    }
}

/// Appends the rows of an array to a column.
pub(super) fn append_rows(column: &mut Column, array: &ArrayRef) -> Result<()> {
    let to = |data_type: &DataType| cast(array, data_type).map_err(query_error);
    match &mut column.values {
        ColumnValues::Numbers(values) => {
            let numbers = to(&DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            values.extend(numbers.iter().map(|value| value.unwrap_or(f64::NAN)));
        }
        ColumnValues::Times(values) => {
            let times = to(&DataType::Timestamp(TimeUnit::Microsecond, None))?;
            let times = cast(&times, &DataType::Int64).map_err(query_error)?;
            #[expect(clippy::cast_precision_loss, reason = "a plot has fewer digits")]
            let seconds = |micros: i64| micros as f64 / 1e6;
            let times = times.as_primitive::<Int64Type>().iter();
            values.extend(times.map(|value| value.map_or(f64::NAN, seconds)));
        }
        ColumnValues::Words(words) => {
            let texts = texts(array)?;
            texts.iter().for_each(|text| words.push(text));
        }
    }
    Ok(())
}

/// Casts any array to text.
fn texts(array: &ArrayRef) -> Result<StringViewArray> {
    let is_nested = array.data_type().is_nested()
        || matches!(array.data_type(), DataType::Dictionary(_, values) if values.is_nested());
    let is_bytes = matches!(
        array.data_type(),
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    );
    if !is_nested && !is_bytes {
        let texts = cast(array, &DataType::Utf8View).map_err(query_error)?;
        return Ok(texts.as_string_view().clone());
    }
    let options = FormatOptions::default();
    let spelled = ArrayFormatter::try_new(array.as_ref(), &options).map_err(query_error)?;
    let text = |row: usize| array.is_valid(row).then(|| spelled.value(row).to_string());
    Ok((0..array.len()).map(text).collect())
}

fn query_error(error: arrow::error::ArrowError) -> Error {
    Error::Query(error.into())
}

/// Selects rows of an array.
pub(super) fn take_rows(array: &ArrayRef, rows: &arrow::array::UInt32Array) -> Result<ArrayRef> {
    if rows.len() == array.len() {
        return Ok(Arc::clone(array));
    }
    arrow::compute::take(array.as_ref(), rows, None).map_err(query_error)
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Int64Array, TimestampSecondArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn columns_are_what_their_types_are() {
        let of = |name: &str, data_type: DataType| column_kind(&Field::new(name, data_type, true));
        assert_eq!(of("runtime_ns", DataType::Float64), ColumnKind::Number);
        assert_eq!(of("trial", DataType::UInt8), ColumnKind::Number);
        assert_eq!(of("price", DataType::Decimal128(10, 2)), ColumnKind::Number);
        assert_eq!(of("graph_id", DataType::Int64), ColumnKind::Word);
        assert_eq!(
            of("at", DataType::Timestamp(TimeUnit::Second, None)),
            ColumnKind::Time
        );
        assert_eq!(of("is_ok", DataType::Boolean), ColumnKind::Word);
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        assert_eq!(of("platform", dictionary), ColumnKind::Word);
    }

    #[test]
    fn values_and_nulls_are_preserved() {
        let put = |name: &str, array: ArrayRef| {
            let mut column = empty_column(&Field::new(name, array.data_type().clone(), true));
            append_rows(&mut column, &array).unwrap();
            column.values
        };
        let ColumnValues::Numbers(numbers) =
            put("n", Arc::new(Int64Array::from(vec![Some(3), None])))
        else {
            panic!()
        };
        assert!(numbers.len() == 2 && numbers[1].is_nan());
        let times = Arc::new(TimestampSecondArray::from(vec![Some(-5), Some(7)]));
        assert_eq!(put("at", times), ColumnValues::Times(vec![-5.0, 7.0]));
        let words = DictionaryArray::<Int32Type>::from_iter([Some("a"), None, Some("a")]);
        let expected: Categories = [Some("a"), None, Some("a")].into_iter().collect();
        assert_eq!(put("w", Arc::new(words)), ColumnValues::Words(expected));
        let ids = Arc::new(Int64Array::from(vec![i64::MIN]));
        let expected: Categories = [Some("-9223372036854775808")].into_iter().collect();
        assert_eq!(put("graph_id", ids), ColumnValues::Words(expected));
    }
}
