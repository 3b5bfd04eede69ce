//! `canonical_float(x)`: a sort and comparison key for floats, with one bit pattern per value that SQL distinguishes.
//!
//! Arrow sorts and compares floats by the total order of IEEE 754. There -0.0 precedes 0.0, and a NaN with a sign
//! precedes all numbers; processors compute such a NaN for `inf - inf`. In SQL both zeros are equal, and all NaN are
//! equal and greater than any number. The optimizer inserts calls of this function (`workarounds/float_keys` of `tensorsql-engine`).

use std::sync::{Arc, LazyLock};

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, FixedSizeListArray, GenericListArray, OffsetSizeTrait,
    PrimitiveArray, StructArray,
};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::function_docs::FunctionDocs;

/// 16-bit floats.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The function.
pub static CANONICAL_FLOAT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let about = FunctionDocs::new(
        "canonical_float",
        "Number by which rows are compared: 0.0 for -0.0, and the same NaN for all NaNs",
        "SELECT canonical_float(runtime_ns) FROM records",
    )
    .argument("value", None, "a number, or a list or struct of numbers")
    .source("IEEE 754, totalOrder");
    Arc::new(ScalarUDF::from(CanonicalFloat {
        signature: about.signature(),
        documentation: about.documentation(),
    }))
});

/// Returns whether values of a type contain floats.
pub fn has_floats(kind: &DataType) -> bool {
    match kind {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_floats(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        _ => false,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CanonicalFloat {
    signature: Signature,
    documentation: Documentation,
}

impl ScalarUDFImpl for CanonicalFloat {
    fn name(&self) -> &'static str {
        "canonical_float"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [kind] = take_function_args(self.name(), types)?;
        Ok(kind.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), args.args)?;
        match value {
            ColumnarValue::Array(values) => canonicalize(&values).map(ColumnarValue::Array),
            ColumnarValue::Scalar(value) => {
                let values = canonicalize(&value.to_array()?)?;
                let value = ScalarValue::try_from_array(&values, 0)?;
                Ok(ColumnarValue::Scalar(value))
            }
        }
    }
}

/// Replaces each float by its canonical bit pattern. Returns the same array if all are canonical.
fn canonicalize(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(match values.data_type() {
        DataType::Float16 => canonicalize_floats::<Float16Type>(
            values,
            |value| value.is_nan() || value.to_bits() == Half::NEG_ZERO.to_bits(),
            |value| {
                if value.is_nan() {
                    Half::NAN
                } else {
                    Half::ZERO
                }
            },
        ),
        DataType::Float32 => canonicalize_floats::<Float32Type>(
            values,
            |value| value.is_nan() || value.to_bits() == (-0.0_f32).to_bits(),
            |value| if value.is_nan() { f32::NAN } else { 0.0 },
        ),
        DataType::Float64 => canonicalize_floats::<Float64Type>(
            values,
            |value| value.is_nan() || value.to_bits() == (-0.0_f64).to_bits(),
            |value| if value.is_nan() { f64::NAN } else { 0.0 },
        ),
        kind if !has_floats(kind) => Arc::clone(values),
        DataType::List(_) => canonicalize_list(values.as_list::<i32>())?,
        DataType::LargeList(_) => canonicalize_list(values.as_list::<i64>())?,
        DataType::FixedSizeList(item, size) => {
            let lists = values.as_fixed_size_list();
            let (items, nulls) = (canonicalize(lists.values())?, lists.nulls().cloned());
            let item = Arc::clone(item);
            Arc::new(FixedSizeListArray::try_new(item, *size, items, nulls)?)
        }
        DataType::Struct(fields) => {
            let structs = values.as_struct();
            let columns = structs.columns().iter().map(canonicalize);
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let nulls = structs.nulls().cloned();
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
        }
        _ => Arc::clone(values),
    })
}

fn canonicalize_floats<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    may_differ: impl Fn(T::Native) -> bool,
    canonical: impl Fn(T::Native) -> T::Native,
) -> ArrayRef {
    let floats: &PrimitiveArray<T> = values.as_primitive();
    if !floats.values().iter().any(|value| may_differ(*value)) {
        return Arc::clone(values);
    }
    Arc::new(floats.unary::<_, T>(|value| {
        if may_differ(value) {
            canonical(value)
        } else {
            value
        }
    }))
}

fn canonicalize_list<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Result<ArrayRef> {
    let (item, offsets, items, nulls) = lists.clone().into_parts();
    let items = canonicalize(&items)?;
    Ok(Arc::new(GenericListArray::try_new(
        item, offsets, items, nulls,
    )?))
}
