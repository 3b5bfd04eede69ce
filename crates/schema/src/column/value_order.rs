//! A total order of scalar values.

use std::cmp::Ordering;

use arrow::array::make_comparator;
use arrow::compute::SortOptions;
use datafusion_common::{Result, ScalarValue};

/// Compares two values of any types. Values of different types are ordered by type, lists and structs by their
/// elements. NULL comes first, also inside of a struct.
///
/// `ScalarValue::partial_cmp` returns `None` for structs with NULL, so it is not a total order.
pub fn value_order(one: &ScalarValue, other: &ScalarValue) -> Ordering {
    let types = one.data_type().cmp(&other.data_type());
    types.then_with(|| {
        let order = match one.data_type().is_nested() {
            true => nested_order(one, other).ok(),
            false => one.partial_cmp(other),
        };
        order.unwrap_or(Ordering::Equal)
    })
}

fn nested_order(one: &ScalarValue, other: &ScalarValue) -> Result<Ordering> {
    let (one, other) = (one.to_array()?, other.to_array()?);
    let options = SortOptions::default();
    Ok(make_comparator(&one, &other, options)?(0, 0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray, StructArray};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn pair(text: Option<&str>, number: Option<i64>) -> ScalarValue {
        let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let number: ArrayRef = Arc::new(Int64Array::from(vec![number]));
        let field = |name, data_type| Arc::new(Field::new(name, data_type, true));
        ScalarValue::Struct(Arc::new(StructArray::from(vec![
            (field("text", DataType::Utf8), text),
            (field("number", DataType::Int64), number),
        ])))
    }

    #[test]
    fn structs_with_null_are_totally_ordered() {
        let mut values = Vec::new();
        for text in [None, Some("a"), Some("b")] {
            for number in [None, Some(1), Some(2)] {
                values.push(pair(text, number));
            }
        }
        for (place, one) in values.iter().enumerate() {
            for (other_place, other) in values.iter().enumerate() {
                assert_eq!(value_order(one, other), place.cmp(&other_place));
            }
        }
    }

    #[test]
    fn numbers_and_values_of_different_types_are_totally_ordered() {
        let nan = ScalarValue::Float64(Some(f64::NAN));
        let one = ScalarValue::Float64(Some(1.0));
        let null = ScalarValue::Float64(None);
        assert_eq!(value_order(&one, &nan), Ordering::Less);
        assert_eq!(value_order(&null, &one), Ordering::Less);
        let text = ScalarValue::from("1");
        assert_ne!(value_order(&text, &one), Ordering::Equal);
        assert_eq!(value_order(&text, &one), value_order(&one, &text).reverse());
    }
}
