//! `unpack_tensors`: the packed tensors of a sample as a list, which the view `tensors` unnests.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BinaryViewArray, Float64Array, Float64Builder, Int64Array, Int64Builder,
    ListBuilder, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::{DataType, Fields};
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{Result, exec_datafusion_err};
use tsql_codecs::tensors::{self, PackedTensors, Tensor};
use tsql_formats::graphnet::meta;

use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

fn tensor_fields() -> Fields {
    use DataType::{Float64, Int64, Utf8View};
    let list = |of| DataType::new_list(of, true);
    nullable_fields([
        ("argument", Int64),
        ("name", Utf8View),
        ("original_name", Utf8View),
        ("kind", Utf8View),
        ("dtype", Utf8View),
        ("device", Utf8View),
        ("shape", list(Int64)),
        ("symbolic_shape", Utf8View),
        ("element_count", Int64),
        ("mean", Float64),
        ("std", Float64),
        ("min_val", Float64),
        ("max_val", Float64),
        ("data", list(Float64)),
    ])
}

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_tensors",
        "Weights and inputs of a GraphNet sample",
        "SELECT unpack_tensors(argument_names, tensor_names, tensor_original_names, tensor_shapes, tensor_dtypes, tensor_devices, tensor_means, tensor_stds, tensor_mins, tensor_maxs, tensor_keys, tensor_symbolic_shapes, tensor_other_data, tensor_data) FROM stored.samples LIMIT 1",
    ).argument(
        "argument_names",
        DataType::Utf8View,
        "arguments of the graph, one per line",
    );
    let columns = PackedTensors::COLUMNS.into_iter();
    let about = columns
        .fold(about, |about, column| {
            about.argument(column, DataType::Utf8View, "column of this name")
        })
        .argument("tensor_data", DataType::BinaryView, "packed elements")
        .source("GraphNet's `weight_meta.py` and `input_meta.py`; tsql: `tensors` of the crate `tensorsql-codecs`");
    Scalar::new(&about, list_type(tensor_fields()), lists)
}

/// Columns under construction.
#[derive(Default)]
struct TensorColumns {
    argument: Vec<Option<i64>>,
    name: StringViewBuilder,
    original_name: StringViewBuilder,
    kind: StringViewBuilder,
    dtype: StringViewBuilder,
    device: StringViewBuilder,
    shape: ListBuilder<Int64Builder>,
    symbolic_shape: StringViewBuilder,
    element_count: Vec<Option<i64>>,
    statistics: [Vec<Option<f64>>; 4],
    data: ListBuilder<Float64Builder>,
}

impl TensorColumns {
    fn push(&mut self, tensor: &Tensor, argument: Option<i64>) {
        self.argument.push(argument);
        self.name.append_value(&tensor.name);
        self.original_name
            .append_option(tensor.original_name.as_deref());
        self.kind.append_value(tensors::tensor_kind(tensor));
        self.dtype.append_option(tensor.dtype.as_deref());
        self.device.append_option(tensor.device.as_deref());
        let shape = tensors::shape(tensor);
        self.shape
            .append_option(shape.map(|sizes| sizes.into_iter().map(Some)));
        self.symbolic_shape
            .append_option(tensor.symbolic_shape.as_deref());
        self.element_count.push(tensors::element_count(tensor));
        let texts = [&tensor.mean, &tensor.std, &tensor.min_val, &tensor.max_val];
        for (column, text) in self.statistics.iter_mut().zip(texts) {
            column.push(text.as_deref().and_then(meta::parse_number));
        }
        let data = tensor.data.values();
        self.data
            .append_option(data.map(|values| values.into_iter().map(Some)));
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        let [mean, std, min_val, max_val] = self.statistics.map(Float64Array::from);
        vec![
            Arc::new(Int64Array::from(self.argument)),
            Arc::new(self.name.finish()),
            Arc::new(self.original_name.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.dtype.finish()),
            Arc::new(self.device.finish()),
            Arc::new(self.shape.finish()),
            Arc::new(self.symbolic_shape.finish()),
            Arc::new(Int64Array::from(self.element_count)),
            Arc::new(mean),
            Arc::new(std),
            Arc::new(min_val),
            Arc::new(max_val),
            Arc::new(self.data.finish()),
        ]
    }
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let arguments = as_string_view_array(argument(args, 0)?)?;
    let mut texts: Vec<&StringViewArray> = Vec::new();
    for place in 0..PackedTensors::COLUMNS.len() {
        texts.push(as_string_view_array(argument(args, place + 1)?)?);
    }
    let last = 1 + PackedTensors::COLUMNS.len();
    let data: &BinaryViewArray = as_binary_view_array(argument(args, last)?)?;
    let mut lengths = ListLengths::default();
    let mut columns = TensorColumns::default();
    for row in 0..data.len() {
        let mut own = [""; PackedTensors::COLUMNS.len()];
        for (slot, column) in own.iter_mut().zip(&texts) {
            if column.is_valid(row) {
                *slot = column.value(row);
            }
        }
        let bytes = if data.is_valid(row) {
            data.value(row)
        } else {
            &[]
        };
        let tensors = PackedTensors::unpack(own, bytes);
        let tensors = tensors.ok_or_else(|| exec_datafusion_err!("samples: damaged tensors"))?;
        let names = arguments.is_valid(row).then(|| arguments.value(row));
        let places = names.map(|names| -> HashMap<&str, i64> { names.lines().zip(0..).collect() });
        for (place, tensor) in (0_i64..).zip(&tensors) {
            let argument = match &places {
                Some(places) => places.get(tensor.name.as_str()).copied(),
                None => Some(place),
            };
            columns.push(tensor, argument);
        }
        lengths.push(Some(tensors.len()));
    }
    lengths.into_struct_lists(tensor_fields(), columns.finish())
}
