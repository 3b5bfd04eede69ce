//! Columns of Arrow as columns of a picture.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use tsql_plot::{Column, Values, What, Words};

use crate::error::{Error, Result};

/// Key of a column's unit in what its schema says of it.
const UNIT: &str = "unit";

/// What a picture takes a column for. Ids are hashes, and so names.
pub(super) fn what(field: &Field) -> What {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        data_type => data_type,
    };
    match data_type {
        data_type if data_type.is_integer() && field.name().ends_with("_id") => What::Word,
        data_type if data_type.is_numeric() => What::Number,
        DataType::Null => What::Number,
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => What::Time,
        _ => What::Word,
    }
}

/// A column without rows.
pub(super) fn empty(field: &Field) -> Column {
    Column {
        name: field.name().clone(),
        unit: field.metadata().get(UNIT).cloned(),
        values: match what(field) {
            What::Number => Values::Numbers(Vec::new()),
            What::Time => Values::Times(Vec::new()),
            What::Word => Values::Words(Words::default()),
        },
    }
}

/// Puts the rows of an array behind those of a column.
pub(super) fn append(column: &mut Column, array: &ArrayRef) -> Result<()> {
    let to = |data_type: &DataType| cast(array, data_type).map_err(failed);
    match &mut column.values {
        Values::Numbers(values) => {
            let numbers = to(&DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            values.extend(numbers.iter().map(|value| value.unwrap_or(f64::NAN)));
        }
        Values::Times(values) => {
            let times = to(&DataType::Timestamp(TimeUnit::Microsecond, None))?;
            let times = cast(&times, &DataType::Int64).map_err(failed)?;
            #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places")]
            let seconds = |micros: i64| micros as f64 / 1e6;
            let times = times.as_primitive::<Int64Type>().iter();
            values.extend(times.map(|value| value.map_or(f64::NAN, seconds)));
        }
        Values::Words(words) => {
            let texts = texts(array)?;
            texts.iter().for_each(|text| words.push(text));
        }
    }
    Ok(())
}

/// Anything as text.
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
        let texts = cast(array, &DataType::Utf8View).map_err(failed)?;
        return Ok(texts.as_string_view().clone());
    }
    let options = FormatOptions::default();
    let spelled = ArrayFormatter::try_new(array.as_ref(), &options).map_err(failed)?;
    let text = |row: usize| array.is_valid(row).then(|| spelled.value(row).to_string());
    Ok((0..array.len()).map(text).collect())
}

fn failed(error: arrow::error::ArrowError) -> Error {
    Error::Query(error.into())
}

/// Some rows of an array.
pub(super) fn taken(array: &ArrayRef, rows: &arrow::array::UInt32Array) -> Result<ArrayRef> {
    if rows.len() == array.len() {
        return Ok(Arc::clone(array));
    }
    arrow::compute::take(array.as_ref(), rows, None).map_err(failed)
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Int64Array, TimestampSecondArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn columns_are_what_their_types_are() {
        let of = |name: &str, data_type: DataType| what(&Field::new(name, data_type, true));
        assert_eq!(of("runtime_ns", DataType::Float64), What::Number);
        assert_eq!(of("trial", DataType::UInt8), What::Number);
        assert_eq!(of("price", DataType::Decimal128(10, 2)), What::Number);
        assert_eq!(of("graph_id", DataType::Int64), What::Word);
        assert_eq!(
            of("at", DataType::Timestamp(TimeUnit::Second, None)),
            What::Time
        );
        assert_eq!(of("is_ok", DataType::Boolean), What::Word);
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        assert_eq!(of("platform", dictionary), What::Word);
    }

    #[test]
    fn values_and_their_absence_are_kept() {
        let put = |name: &str, array: ArrayRef| {
            let mut column = empty(&Field::new(name, array.data_type().clone(), true));
            append(&mut column, &array).unwrap();
            column.values
        };
        let Values::Numbers(numbers) = put("n", Arc::new(Int64Array::from(vec![Some(3), None])))
        else {
            panic!()
        };
        assert!(numbers.len() == 2 && numbers[1].is_nan());
        let times = Arc::new(TimestampSecondArray::from(vec![Some(-5), Some(7)]));
        assert_eq!(put("at", times), Values::Times(vec![-5.0, 7.0]));
        let words = DictionaryArray::<Int32Type>::from_iter([Some("a"), None, Some("a")]);
        let expected: Words = [Some("a"), None, Some("a")].into_iter().collect();
        assert_eq!(put("w", Arc::new(words)), Values::Words(expected));
        let ids = Arc::new(Int64Array::from(vec![i64::MIN]));
        let expected: Words = [Some("-9223372036854775808")].into_iter().collect();
        assert_eq!(put("graph_id", ids), Values::Words(expected));
    }
}
