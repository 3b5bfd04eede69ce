//! Sums, means, deviations, covariances and regressions of floats over sliding window frames, without subtraction.
//!
//! DataFusion removes the rows that leave a frame by subtracting them. Floats do not allow that: `1e300 + 1 - 1e300` is 0, and nothing
//! follows an infinity but NaN. Here the values of a frame are two stacks of partial results, so each row costs a constant number of
//! additions on average, whatever the frame (Tangwongsan, Hirzel and Schneider, Low-latency sliding-window aggregation in worst-case
//! constant time, 2017, section 3). Integers, decimals and durations stay DataFusion's, whose subtraction is exact.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::cast::as_float64_array;
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

use super::deviation;

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

/// An aggregate function with a sliding accumulator of its own for floats.
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
    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
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

    fn name(&self) -> &str {
        self.original.name()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.original.schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.original.human_display(params)
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.original.window_function_schema_name(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.original.display_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.original.window_function_display_name(params)
    }

    fn signature(&self) -> &Signature {
        self.original.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.original.return_type(types)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.original.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.original.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.original.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.original.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.original.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.original.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.original.order_sensitivity()
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.original.simplify()
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

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.original.coerce_types(types)
    }

    fn is_descending(&self) -> Option<bool> {
        self.original.is_descending()
    }

    fn value_from_stats(&self, statistics: &StatisticsArgs) -> Option<ScalarValue> {
        self.original.value_from_stats(statistics)
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.original.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.original.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.original.supports_within_group_clause()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.original.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.original.inner().set_monotonicity(data_type)
    }
}

/// The accumulator of a function of floats by its name.
fn sliding_accumulator(name: &str) -> Option<Box<dyn Accumulator>> {
    fn boxed<P: Partial>(result: fn(P) -> Option<f64>) -> Option<Box<dyn Accumulator>> {
        let result = move |partial| ScalarValue::Float64(result(partial));
        Some(Box::new(Sliding {
            frame: TwoStacks::default(),
            result: Box::new(result),
        }))
    }
    match name {
        "sum" => boxed(|frame: Total| (frame.count > 0).then_some(frame.sum)),
        "avg" => boxed(|frame: Total| (frame.count > 0).then(|| frame.sum / number(frame.count))),
        "var" => boxed(|frame: Spread| frame.variance(1)),
        "var_pop" => boxed(|frame: Spread| frame.variance(0)),
        "stddev" => boxed(|frame: Spread| frame.variance(1).map(f64::sqrt)),
        "stddev_pop" => boxed(|frame: Spread| frame.variance(0).map(f64::sqrt)),
        "covar_samp" => boxed(|frame: Pairs| frame.covariance(1)),
        "covar_pop" => boxed(|frame: Pairs| frame.covariance(0)),
        "corr" => boxed(Pairs::correlation),
        "regr_slope" => boxed(Pairs::slope),
        "regr_intercept" => boxed(|frame: Pairs| {
            let slope = frame.slope()?;
            Some(frame.first.mean - slope * frame.second.mean)
        }),
        "regr_r2" => boxed(|frame: Pairs| {
            let slope = frame.slope()?;
            let (products, squares) = (frame.products, frame.first.squares);
            (squares != 0.0).then(|| slope * products / squares)
        }),
        "regr_avgx" => boxed(|frame: Pairs| frame.any().map(|frame| frame.second.mean)),
        "regr_avgy" => boxed(|frame: Pairs| frame.any().map(|frame| frame.first.mean)),
        "regr_sxx" => boxed(|frame: Pairs| frame.any().map(|frame| frame.second.squares)),
        "regr_syy" => boxed(|frame: Pairs| frame.any().map(|frame| frame.first.squares)),
        "regr_sxy" => boxed(|frame: Pairs| frame.any().map(|frame| frame.products)),
        _ => None,
    }
}

/// What is known of consecutive rows of a frame. The default is that of no rows.
trait Partial: Copy + Debug + Default + Send + Sync + 'static {
    /// One for each row in which no argument is NULL.
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>>;

    /// What is known of these rows and of those that follow.
    fn and(self, later: Self) -> Self;
}

/// The rows of a frame: newer ones one by one, older ones each with what is known of it and all that follow it up to the newer ones.
#[derive(Debug, Default)]
struct TwoStacks<P> {
    newer: Vec<P>,
    all_newer: P,
    /// The oldest row is the last.
    older: Vec<P>,
}

impl<P: Partial> TwoStacks<P> {
    fn push(&mut self, row: P) {
        self.all_newer = self.all_newer.and(row);
        self.newer.push(row);
    }

    /// Removes the oldest row.
    fn pop(&mut self) {
        if self.older.is_empty() {
            let mut rest = P::default();
            self.older.reserve(self.newer.len());
            while let Some(row) = self.newer.pop() {
                rest = row.and(rest);
                self.older.push(rest);
            }
            self.all_newer = P::default();
        }
        self.older.pop();
    }

    fn all(&self) -> P {
        let older = self.older.last().copied().unwrap_or_default();
        older.and(self.all_newer)
    }
}

/// The accumulator of a sliding frame, whose oldest rows leave first.
struct Sliding<P> {
    frame: TwoStacks<P>,
    result: Box<dyn Fn(P) -> ScalarValue + Send + Sync>,
}

impl<P: Debug> Debug for Sliding<P> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut to = to.debug_struct("Sliding");
        to.field("frame", &self.frame).finish_non_exhaustive()
    }
}

impl<P: Partial> Accumulator for Sliding<P> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        P::of_rows(values)?.for_each(|row| self.frame.push(row));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        P::of_rows(values)?.for_each(|_| self.frame.pop());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok((self.result)(self.frame.all()))
    }

    fn size(&self) -> usize {
        let rows = self.frame.newer.capacity() + self.frame.older.capacity();
        size_of_val(self) + rows * size_of::<P>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a window frame has no state that is merged")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a window frame has no state that is merged")
    }
}

/// How many values, and their sum.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    count: u64,
    sum: f64,
}

impl Partial for Total {
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [values] = floats(arguments)?;
        let values = values.iter().flatten();
        Ok(values.map(|sum| Self { count: 1, sum }))
    }

    fn and(self, later: Self) -> Self {
        Self {
            count: self.count + later.count,
            sum: self.sum + later.sum,
        }
    }
}

/// How many values, their mean, and the sum of squared distances from it.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Spread {
    fn of_value(mean: f64) -> Self {
        let (count, squares) = (1, zero_of(mean));
        Self {
            count,
            mean,
            squares,
        }
    }

    /// The variance, where `lost` degrees of freedom are lost.
    fn variance(self, lost: u64) -> Option<f64> {
        (self.count > lost).then(|| self.squares / number(self.count - lost))
    }
}

impl Partial for Spread {
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [values] = floats(arguments)?;
        Ok(values.iter().flatten().map(Self::of_value))
    }

    /// Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
    fn and(self, later: Self) -> Self {
        if self.count == 0 || later.count == 0 {
            return if self.count == 0 { later } else { self };
        }
        let count = self.count + later.count;
        let fraction = number(later.count) / number(count);
        let distance = later.mean - self.mean;
        let mean = if distance.is_finite() {
            self.mean + distance * fraction
        } else {
            // An infinity stays one, and means that are far apart do not become one.
            self.mean * (1.0 - fraction) + later.mean * fraction
        };
        let between = distance * distance * number(self.count) * fraction;
        Self {
            count,
            mean,
            squares: self.squares + later.squares + between,
        }
    }
}

/// Pairs of values: how each spreads, and the sum of products of their distances from the means.
#[derive(Clone, Copy, Debug, Default)]
struct Pairs {
    first: Spread,
    second: Spread,
    products: f64,
}

impl Pairs {
    fn any(self) -> Option<Self> {
        (self.first.count > 0).then_some(self)
    }

    /// The covariance, where `lost` degrees of freedom are lost.
    fn covariance(self, lost: u64) -> Option<f64> {
        let count = self.first.count;
        (count > lost).then(|| self.products / number(count - lost))
    }

    /// The slope of the first by the second; `None` where all of the second are equal.
    fn slope(self) -> Option<f64> {
        let Spread { count, squares, .. } = self.second;
        (count > 1 && squares != 0.0).then(|| self.products / squares)
    }

    /// As DataFusion has it: NaN where both have NaN, NULL where one has.
    fn correlation(self) -> Option<f64> {
        let means = (self.first.mean, self.second.mean);
        if means.0.is_nan() && means.1.is_nan() {
            return Some(f64::NAN);
        }
        let deviations = (
            self.first.variance(0)?.sqrt(),
            self.second.variance(0)?.sqrt(),
        );
        let is_one = means.0.is_nan() || means.1.is_nan() || self.first.count < 2;
        let is_flat = deviations.0 == 0.0 || deviations.1 == 0.0;
        let covariance = self.covariance(0)?;
        (!is_one && !is_flat).then(|| covariance / deviations.0 / deviations.1)
    }
}

impl Partial for Pairs {
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [first, second] = floats(arguments)?;
        let pairs = first.iter().zip(second);
        let pairs = pairs.filter_map(|(first, second)| first.zip(second));
        Ok(pairs.map(|(first, second)| Self {
            first: Spread::of_value(first),
            second: Spread::of_value(second),
            products: zero_of(first) * zero_of(second),
        }))
    }

    fn and(self, later: Self) -> Self {
        let (here, there) = (self.first.count, later.first.count);
        let between = if here == 0 || there == 0 {
            0.0
        } else {
            let first = later.first.mean - self.first.mean;
            let second = later.second.mean - self.second.mean;
            first * second * number(here) * (number(there) / number(here + there))
        };
        Self {
            first: self.first.and(later.first),
            second: self.second.and(later.second),
            products: self.products + later.products + between,
        }
    }
}

/// The distance of a value from itself: 0, and NaN where it is not finite.
fn zero_of(value: f64) -> f64 {
    if value.is_finite() { 0.0 } else { f64::NAN }
}

#[expect(clippy::cast_precision_loss, reason = "a count of rows")]
fn number(count: u64) -> f64 {
    count as f64
}

fn floats<const N: usize>(arguments: &[ArrayRef]) -> Result<[&arrow::array::Float64Array; N]> {
    let arrays = arguments.iter().map(|values| as_float64_array(values));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    match <[_; N]>::try_from(arrays) {
        Ok(arrays) => Ok(arrays),
        Err(arrays) => internal_err!("expected {N} arguments, got {}", arrays.len()),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray as _;
    use arrow::datatypes::{Float64Type, Int64Type};
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::query::collect;
    use crate::query::engine::engine;

    const FUNCTIONS: [&str; 19] = [
        "sum(x)",
        "avg(x)",
        "var(x)",
        "var_pop(x)",
        "variance(x)",
        "stddev(x)",
        "stddev_samp(x)",
        "stddev_pop(x)",
        "covar_samp(y, x)",
        "covar_pop(y, x)",
        "corr(y, x)",
        "regr_slope(y, x)",
        "regr_intercept(y, x)",
        "regr_r2(y, x)",
        "regr_avgx(y, x)",
        "regr_avgy(y, x)",
        "regr_sxx(y, x)",
        "regr_syy(y, x)",
        "regr_sxy(y, x)",
    ];

    /// Rows `i` of a table, with numbers that lie far apart, infinities and NaN in some, and NULL.
    async fn context() -> SessionContext {
        let context = engine(None).unwrap();
        let rows = "CREATE TABLE t AS SELECT i, i % 3 AS p,
            CASE WHEN i % 7 = 3 THEN NULL WHEN i = 20 THEN 1e150 WHEN i = 60 THEN CAST('inf' AS DOUBLE)
                WHEN i = 90 THEN CAST('NaN' AS DOUBLE) ELSE i * 37 % 11 / 4.0 END AS x,
            CASE WHEN i % 5 > 0 THEN i * i % 17 - 3.5 END AS y
            FROM (SELECT unnest(range(0, 120)) AS i)";
        collect(&context, rows).await.unwrap();
        context
    }

    /// Each frame is computed once more by a join with its rows, which subtracts nothing.
    #[tokio::test]
    async fn frames_are_what_their_rows_are() {
        let context = context().await;
        for (frame, rows) in [
            (
                "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
                "b.i BETWEEN a.i - 3 AND a.i",
            ),
            (
                "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                "b.i BETWEEN a.i - 2 AND a.i - 1",
            ),
            (
                "ROWS BETWEEN 2 FOLLOWING AND 5 FOLLOWING",
                "b.i BETWEEN a.i + 2 AND a.i + 5",
            ),
            (
                "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                "b.i >= a.i",
            ),
            (
                "RANGE BETWEEN 4 PRECEDING AND 3 FOLLOWING",
                "b.i BETWEEN a.i - 4 AND a.i + 3",
            ),
            (
                "GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
                "b.i BETWEEN a.i - 1 AND a.i + 2",
            ),
        ] {
            for filter in ["", " FILTER (WHERE i % 4 <> 1)"] {
                let windows = FUNCTIONS.iter().enumerate().map(|(place, function)| {
                    format!("{function}{filter} OVER (ORDER BY i {frame}) AS f{place}")
                });
                let windows = windows.collect::<Vec<_>>().join(", ");
                let joined = FUNCTIONS.iter().enumerate().map(|(place, function)| {
                    let of_row = function.replace("x)", "b.x)").replace("(y", "(b.y");
                    let filter = filter.replace("i %", "b.i %");
                    format!("{of_row}{filter} AS f{place}")
                });
                let joined = joined.collect::<Vec<_>>().join(", ");
                let windows = format!("SELECT i, {windows} FROM t ORDER BY i");
                let joined = format!(
                    "SELECT a.i, {joined} FROM t AS a LEFT JOIN t AS b ON {rows} GROUP BY a.i ORDER BY a.i"
                );
                let [found, wanted] = [
                    collect(&context, &windows).await.unwrap(),
                    collect(&context, &joined).await.unwrap(),
                ]
                .map(|batches| {
                    arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
                });
                assert_eq!(
                    found.column(0).as_primitive::<Int64Type>(),
                    wanted.column(0).as_primitive::<Int64Type>()
                );
                for (place, function) in FUNCTIONS.iter().enumerate() {
                    let [found, wanted] = [&found, &wanted]
                        .map(|batch| batch.column(place + 1).as_primitive::<Float64Type>());
                    for (row, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                        assert!(
                            is_near(found, wanted),
                            "{found:?}, not {wanted:?}: {function}{filter} of row {row}, {frame}"
                        );
                    }
                }
            }
        }
    }

    /// Infinity and NaN may stand for each other: it depends on the order in which the mean of an infinity is computed.
    fn is_near(found: Option<f64>, wanted: Option<f64>) -> bool {
        match (found, wanted) {
            (Some(found), Some(wanted)) if wanted.is_finite() => {
                (found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3)
            }
            (Some(found), Some(_)) => !found.is_finite(),
            (None, None) => true,
            // A correlation with NaN on one side is NULL.
            (found, wanted) => !found.or(wanted).is_some_and(f64::is_finite),
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn nothing_is_left_of_rows_that_a_frame_has_left() {
        let context = engine(None).unwrap();
        let rows = "(VALUES (1, 1e300), (2, 1.0), (3, 2.0), (4, CAST('inf' AS DOUBLE)), (5, 3.0), (6, 0.1), (7, 0.2), (8, NULL), (9, NULL), (10, 0.0)) AS t(i, x)";
        for (function, wanted) in [
            (
                "sum(x)",
                "1e300 1e300 3.0 inf inf 3.1 0.30000000000000004 0.2 NULL 0.0",
            ),
            (
                "avg(x)",
                "1e300 5e299 1.5 inf inf 1.55 0.15000000000000002 0.2 NULL 0.0",
            ),
            (
                "sum(CAST(x AS REAL)) FILTER (WHERE i <> 1)",
                "NULL 1.0 3.0 inf inf 3.100000001490116 0.30000000447034836 0.20000000298023224 NULL 0.0",
            ),
        ] {
            for beside in [
                "",
                ", ntile(2) OVER (ORDER BY i)",
                ", lag(x, 2) OVER (ORDER BY i)",
            ] {
                for frame in [
                    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                    "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
                    "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
                ] {
                    let sql = format!(
                        "SELECT coalesce(CAST({function} OVER (ORDER BY i {frame}) AS VARCHAR), 'NULL') AS s{beside} FROM {rows} ORDER BY i"
                    );
                    let rows = collect(&context, &sql).await.unwrap();
                    let text = pretty_format_batches(&rows).unwrap().to_string();
                    let lines = text.lines().skip(3).filter(|line| line.starts_with('|'));
                    let cells = lines.map(|line| line.split('|').nth(1).unwrap_or_default().trim());
                    assert_eq!(cells.collect::<Vec<_>>().join(" "), wanted, "{sql}");
                }
            }
        }
    }
}
