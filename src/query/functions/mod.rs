//! SQL functions of tsql, one file each. Registered by name, so that a plan that uses them runs on
//! any worker that has called [`register`].

pub(super) mod count_distinct_dense;
mod extreme_by;
mod fill_sketch;
mod hlo_opcode;
mod json_text;
mod lists;
mod lossy_text;
mod min_repeat_ns;
mod node_feature;
mod odd_repeats;
mod open_sketch;
mod percentile_cont;
mod ranking;
mod repeat_noise;
mod repeats_ns;
mod scaled;
mod sketch_params;
mod speedup;
mod time_at;
mod unpack_calls;
mod unpack_checks;
mod unpack_graph;
mod unpack_tensors;
mod workload;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryViewArray, Float64Array, Float64Builder, Int32Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_float64_array, as_int32_array};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, Signature, Volatility, create_udf,
};
use datafusion::prelude::SessionContext;

/// All of them.
pub(crate) fn all() -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(fill_sketch::FillSketch::new()),
        hlo_opcode::udf(),
        ScalarUDF::from(lossy_text::LossyText::new()),
        ScalarUDF::from(min_repeat_ns::MinRepeatNs::new()),
        node_feature::one(),
        node_feature::all(),
        open_sketch::udf(),
        ScalarUDF::from(repeat_noise::RepeatNoise::new()),
        ScalarUDF::from(repeats_ns::RepeatsNs::new()),
        ScalarUDF::from(scaled::Scaled::new()),
        sketch_params::udf(),
        json_text::field(),
        json_text::key(),
        json_text::lines(),
        odd_repeats::flags(),
        odd_repeats::repeats(),
        speedup::formula(),
        ScalarUDF::from(time_at::TimeAt::new()),
        unpack_calls::uses(),
        unpack_calls::named_nodes(),
        unpack_checks::checks(),
        unpack_checks::passes_at(),
        unpack_tensors::udf(),
        unpack_graph::nodes(),
        unpack_graph::edges(),
        unpack_graph::steps(),
        ScalarUDF::from(workload::Workload::name()),
        ScalarUDF::from(workload::Workload::args()),
    ]
}

/// Makes them known to a session.
pub(crate) fn register(context: &SessionContext) {
    all()
        .into_iter()
        .for_each(|function| context.register_udf(function));
    let aggregates = ranking::all().into_iter().chain(speedup::all());
    aggregates
        .chain(extreme_by::all())
        .chain([count_distinct_dense::udaf(), percentile_cont::udaf()])
        .for_each(|aggregate| context.register_udaf(aggregate));
}

/// A function of arrays without further ado.
fn function(
    name: &str,
    types: Vec<DataType>,
    gives: DataType,
    run: fn(&[ArrayRef]) -> Result<ArrayRef>,
) -> ScalarUDF {
    let run = move |args: &[ColumnarValue]| {
        let arrays = ColumnarValue::values_to_arrays(args)?;
        run(&arrays).map(ColumnarValue::Array)
    };
    create_udf(name, types, gives, Volatility::Immutable, Arc::new(run))
}

/// An argument of a [`function`].
fn argument(args: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    args.get(place)
        .ok_or_else(|| DataFusionError::Internal(format!("no argument {place}")))
}

fn exact(types: Vec<DataType>) -> Signature {
    Signature::exact(types, Volatility::Immutable)
}

/// The signature of functions over packed repeats: mean, count, the packed rest.
fn repeats_signature() -> Signature {
    exact(vec![
        DataType::Float64,
        DataType::Int32,
        DataType::BinaryView,
    ])
}

/// The columns that packed repeats are made of.
struct PackedRepeats {
    runtime_ns: Float64Array,
    count: Int32Array,
    bytes: BinaryViewArray,
}

impl PackedRepeats {
    fn from_args(args: &ScalarFunctionArgs) -> Result<Self> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [runtime_ns, count, bytes] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(
                "three arguments were promised".to_owned(),
            ));
        };
        Ok(Self {
            runtime_ns: as_float64_array(runtime_ns)?.clone(),
            count: as_int32_array(count)?.clone(),
            bytes: as_binary_view_array(bytes)?.clone(),
        })
    }

    /// What `of` makes of mean, count and packed bytes of each row; NULL where there are no repeats.
    fn each<T>(
        &self,
        mut of: impl FnMut(f64, i32, Option<&[u8]>) -> Option<T>,
    ) -> impl Iterator<Item = Result<Option<T>>> {
        let nulls = NullBuffer::union(self.runtime_ns.nulls(), self.count.nulls());
        let columns = self.runtime_ns.values().iter().zip(self.count.values());
        columns
            .enumerate()
            .map(move |(row, (&runtime_ns, &count))| {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    return Ok(None);
                }
                let bytes = self.bytes.is_valid(row).then(|| self.bytes.value(row));
                match of(runtime_ns, count, bytes) {
                    Some(made) => Ok(Some(made)),
                    None => Err(DataFusionError::Execution(
                        "records: damaged repeats".to_owned(),
                    )),
                }
            })
    }

    /// As [`PackedRepeats::each`], for numbers.
    fn numbers(
        &self,
        of: impl FnMut(f64, i32, Option<&[u8]>) -> Option<f64>,
    ) -> Result<ColumnarValue> {
        let mut numbers = Float64Builder::with_capacity(self.runtime_ns.len());
        for number in self.each(of) {
            numbers.append_option(number?);
        }
        Ok(ColumnarValue::Array(Arc::new(numbers.finish())))
    }
}
