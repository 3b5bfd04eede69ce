//! Sums, means, deviations, covariances and regressions of floats over sliding window frames, without subtraction.
//!
//! DataFusion removes the rows that leave a frame by subtraction. Floats do not allow that: `1e300 + 1 - 1e300` is 0,
//! and after an infinity only NaN follows. Here the values of a frame are two stacks of partial results, so each row
//! costs an amortized constant number of additions for any frame (Tangwongsan, Hirzel and Schneider, Low-latency
//! sliding-window aggregation in worst-case constant time, 2017, section 3). Decimals and durations use DataFusion's
//! accumulators, whose subtraction is exact, and integers those of `integer_sum`.

mod partials;

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::functions_aggregate::correlation::corr_udaf;
use datafusion::functions_aggregate::covariance::{covar_pop_udaf, covar_samp_udaf};
use datafusion::functions_aggregate::regr::{
    regr_avgx_udaf, regr_avgy_udaf, regr_intercept_udaf, regr_r2_udaf, regr_slope_udaf,
    regr_sxx_udaf, regr_sxy_udaf, regr_syy_udaf,
};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::{
    AggregateFunction, AggregateFunctionParams, WindowFunctionParams,
};
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, GroupsAccumulator, Operator,
    ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};
use delegate::delegate;

use partials::{Pairs, Partial, Spread, Total, count_as_f64};

use super::{deviation, integer_sum};

/// All functions whose sliding accumulator would subtract floats.
pub(super) fn udafs() -> impl Iterator<Item = AggregateUDF> {
    let originals = [
        sum_udaf(),
        avg_udaf(),
        covar_samp_udaf(),
        covar_pop_udaf(),
        corr_udaf(),
        regr_slope_udaf(),
        regr_intercept_udaf(),
        regr_r2_udaf(),
        regr_avgx_udaf(),
        regr_avgy_udaf(),
        regr_sxx_udaf(),
        regr_syy_udaf(),
        regr_sxy_udaf(),
    ];
    let originals = originals.into_iter();
    let originals = originals.chain(deviation::udafs().map(Arc::new));
    originals.map(|original| AggregateUDF::from(WithoutSubtraction::new(original)))
}

/// An aggregate function with another sliding accumulator for floats.
#[derive(Debug, Eq)]
struct WithoutSubtraction {
    original: Arc<AggregateUDF>,
    aliases: Vec<String>,
}

impl WithoutSubtraction {
    fn new(original: Arc<AggregateUDF>) -> Self {
        let mut aliases = original.aliases().to_vec();
        // DuckDB's name. `AggregateUDF::with_aliases` would lose the sliding accumulator.
        if original.name() == "var" {
            aliases.push("variance".to_owned());
        }
        Self { original, aliases }
    }

    fn is_sum(&self) -> bool {
        self.original.name() == "sum"
    }
}

impl PartialEq for WithoutSubtraction {
    fn eq(&self, other: &Self) -> bool {
        self.original == other.original
    }
}

impl Hash for WithoutSubtraction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.original.hash(state);
    }
}

impl AggregateUDFImpl for WithoutSubtraction {
    delegate! {
        to self.original {
            fn name(&self) -> &str;
            fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String>;
            fn human_display(&self, params: &AggregateFunctionParams) -> Result<String>;
            fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String>;
            fn display_name(&self, params: &AggregateFunctionParams) -> Result<String>;
            fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String>;
            fn signature(&self) -> &Signature;
            fn return_type(&self, types: &[DataType]) -> Result<DataType>;
            fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef>;
            fn is_nullable(&self) -> bool;
            fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>>;
            fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool;
            fn order_sensitivity(&self) -> AggregateOrderSensitivity;
            fn simplify(&self) -> Option<AggregateFunctionSimplification>;
            fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>>;
            fn is_descending(&self) -> Option<bool>;
            fn value_from_stats(&self, statistics: &StatisticsArgs) -> Option<ScalarValue>;
            fn default_value(&self, data_type: &DataType) -> Result<ScalarValue>;
            fn supports_null_handling_clause(&self) -> bool;
            fn supports_within_group_clause(&self) -> bool;
            fn documentation(&self) -> Option<&Documentation>;
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if self.is_sum() {
            let distinct = || self.original.accumulator(args.clone());
            if let Some(sum) = integer_sum::accumulator(&args, distinct)? {
                return Ok(sum);
            }
        }
        self.original.accumulator(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let sums = self
            .is_sum()
            .then(|| integer_sum::groups_accumulator(&args));
        match sums.flatten() {
            Some(sums) => Ok(sums),
            None => self.original.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if self.is_sum() && !args.is_distinct {
            let original = || self.original.create_sliding_accumulator(args.clone());
            if let Some(sum) = integer_sum::accumulator(&args, original)? {
                return Ok(sum);
            }
        }
        let mut fields = args.expr_fields.iter();
        let has_floats = fields.all(|field| *field.data_type() == DataType::Float64);
        if has_floats
            && !args.is_distinct
            && let Some(accumulator) = sliding_accumulator(self.original.name())
        {
            return Ok(accumulator);
        }
        self.original.create_sliding_accumulator(args)
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn simplify_expr_op_literal(
        &self,
        function: &AggregateFunction,
        arg: &Expr,
        operator: Operator,
        literal: &Expr,
        arg_is_left: bool,
    ) -> Result<Option<Expr>> {
        let original = self.original.inner();
        original.simplify_expr_op_literal(function, arg, operator, literal, arg_is_left)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.original.reverse_udf()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.original.inner().set_monotonicity(data_type)
    }
}

/// The sliding accumulator of a function of floats, by the function name.
fn sliding_accumulator(name: &str) -> Option<Box<dyn Accumulator>> {
    fn boxed_accumulator<P: Partial>(result: fn(P) -> Option<f64>) -> Option<Box<dyn Accumulator>> {
        let result = move |partial| ScalarValue::Float64(result(partial));
        Some(Box::new(SlidingAccumulator {
            frame: TwoStacks::default(),
            result: Box::new(result),
        }))
    }
    match name {
        "sum" => boxed_accumulator(|frame: Total| (frame.count > 0).then_some(frame.sum)),
        "avg" => boxed_accumulator(|frame: Total| {
            (frame.count > 0).then(|| frame.sum / count_as_f64(frame.count))
        }),
        "var" => boxed_accumulator(|frame: Spread| frame.variance(1)),
        "var_pop" => boxed_accumulator(|frame: Spread| frame.variance(0)),
        "stddev" => boxed_accumulator(|frame: Spread| frame.variance(1).map(f64::sqrt)),
        "stddev_pop" => boxed_accumulator(|frame: Spread| frame.variance(0).map(f64::sqrt)),
        "covar_samp" => boxed_accumulator(|frame: Pairs| frame.covariance(1)),
        "covar_pop" => boxed_accumulator(|frame: Pairs| frame.covariance(0)),
        "corr" => boxed_accumulator(Pairs::correlation),
        "regr_slope" => boxed_accumulator(Pairs::slope),
        "regr_intercept" => boxed_accumulator(|frame: Pairs| {
            let slope = frame.slope()?;
            Some(frame.first.mean - slope * frame.second.mean)
        }),
        "regr_r2" => boxed_accumulator(|frame: Pairs| {
            let slope = frame.slope()?;
            let (products, squares) = (frame.products, frame.first.squares);
            (squares != 0.0).then(|| slope * products / squares)
        }),
        "regr_avgx" => {
            boxed_accumulator(|frame: Pairs| frame.non_empty().map(|frame| frame.second.mean))
        }
        "regr_avgy" => {
            boxed_accumulator(|frame: Pairs| frame.non_empty().map(|frame| frame.first.mean))
        }
        "regr_sxx" => {
            boxed_accumulator(|frame: Pairs| frame.non_empty().map(|frame| frame.second.squares))
        }
        "regr_syy" => {
            boxed_accumulator(|frame: Pairs| frame.non_empty().map(|frame| frame.first.squares))
        }
        "regr_sxy" => {
            boxed_accumulator(|frame: Pairs| frame.non_empty().map(|frame| frame.products))
        }
        _ => None,
    }
}

/// Rows of a frame. The newer rows are single; each older row is merged with all older rows after it.
#[derive(Debug, Default)]
struct TwoStacks<P> {
    newer: Vec<P>,
    all_newer: P,
    /// The oldest row is the last.
    older: Vec<P>,
}

impl<P: Partial> TwoStacks<P> {
    fn push(&mut self, row: P) {
        self.all_newer = self.all_newer.merge(row);
        self.newer.push(row);
    }

    /// Removes the oldest row.
    fn pop(&mut self) {
        if self.older.is_empty() {
            let mut rest = P::default();
            self.older.reserve(self.newer.len());
            while let Some(row) = self.newer.pop() {
                rest = row.merge(rest);
                self.older.push(rest);
            }
            self.all_newer = P::default();
        }
        self.older.pop();
    }

    fn total(&self) -> P {
        let older = self.older.last().copied().unwrap_or_default();
        older.merge(self.all_newer)
    }
}

/// Accumulator of a sliding frame. Rows leave in the order in which they were added.
struct SlidingAccumulator<P> {
    frame: TwoStacks<P>,
    result: Box<dyn Fn(P) -> ScalarValue + Send + Sync>,
}

impl<P: Debug> Debug for SlidingAccumulator<P> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut to = to.debug_struct("Sliding");
        to.field("frame", &self.frame).finish_non_exhaustive()
    }
}

impl<P: Partial> Accumulator for SlidingAccumulator<P> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        P::from_rows(values)?.for_each(|row| self.frame.push(row));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        P::from_rows(values)?.for_each(|_| self.frame.pop());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok((self.result)(self.frame.total()))
    }

    fn size(&self) -> usize {
        let rows = self.frame.newer.capacity() + self.frame.older.capacity();
        size_of_val(self) + rows * size_of::<P>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a window frame has no state to merge")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a window frame has no state to merge")
    }
}
