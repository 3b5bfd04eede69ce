//! `min(x)` and `max(x)` of floats by group. NaN is greater than any number, as in sorts and in DuckDB.
//!
//! DataFusion 55 replaces the extreme by NaN and then NaN by any number, so the result depends on the row order. Its
//! maximum of only -inf is the smallest finite number.

use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use datafusion::common::Result;
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion::scalar::ScalarValue;
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

/// 16-bit floats.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// Both functions.
pub(super) fn udafs() -> [AggregateUDF; 2] {
    [
        AggregateUDF::from(FloatExtreme(Min::new())),
        AggregateUDF::from(FloatExtreme(Max::new())),
    ]
}

macro_rules! accumulator {
    ($kind:ident, $primitive:ty, $start:expr, $is_better:expr) => {
        Box::new(
            PrimitiveGroupsAccumulator::<$primitive, _>::new($kind, move |extreme, value| {
                if $is_better(*extreme, value) {
                    *extreme = value;
                }
            })
            .with_starting_value($start),
        )
    };
}

/// Returns the accumulator of floats; `None` for other types.
fn minimum(kind: &DataType) -> Option<Box<dyn GroupsAccumulator>> {
    macro_rules! minimum {
        ($primitive:ty, $native:ty) => {
            accumulator!(
                kind,
                $primitive,
                <$native>::NAN,
                |least: $native, value| value < least || least.is_nan()
            )
        };
    }
    Some(match kind {
        DataType::Float16 => minimum!(Float16Type, Half),
        DataType::Float32 => minimum!(Float32Type, f32),
        DataType::Float64 => minimum!(Float64Type, f64),
        _ => return None,
    })
}

/// Returns the accumulator of floats; `None` for other types.
fn maximum(kind: &DataType) -> Option<Box<dyn GroupsAccumulator>> {
    macro_rules! maximum {
        ($primitive:ty, $native:ty) => {
            accumulator!(
                kind,
                $primitive,
                <$native>::NEG_INFINITY,
                |greatest: $native, value: $native| value > greatest || value.is_nan()
            )
        };
    }
    Some(match kind {
        DataType::Float16 => maximum!(Float16Type, Half),
        DataType::Float32 => maximum!(Float32Type, f32),
        DataType::Float64 => maximum!(Float64Type, f64),
        _ => return None,
    })
}

/// DataFusion's function with another accumulator for floats by group.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatExtreme<F>(F);

impl<F: AggregateUDFImpl> AggregateUDFImpl for FloatExtreme<F>
where
    Self: std::fmt::Debug + std::hash::Hash + Eq + Send + Sync + 'static,
{
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let kind = args.return_field.data_type();
        let of_floats = if self.0.is_descending() == Some(true) {
            maximum(kind)
        } else {
            minimum(kind)
        };
        match of_floats {
            Some(accumulator) => Ok(accumulator),
            None => self.0.create_groups_accumulator(args),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.create_sliding_accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn is_descending(&self) -> Option<bool> {
        self.0.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_expr()
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.0.value_from_stats(args)
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.0.set_monotonicity(kind)
    }
}
