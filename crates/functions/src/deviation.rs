//! `stddev`, `var` and related functions: DataFusion's, with faster updates for consecutive rows of the same group.
//!
//! DataFusion divides once per row (Welford 1962). Here the mean and the sum of squares of a run of rows are computed
//! in passes over the run, and then merged (Chan, Golub and LeVeque 1979), as DataFusion merges the results of threads.
//! Standard deviations by platform of 51.6 million runtimes take 0.19 s instead of 0.39 s with the column in memory.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, Float64Array, UInt64Array};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::cast::as_float64_array;
use datafusion::functions_aggregate::stddev::{stddev_pop_udaf, stddev_udaf};
use datafusion::functions_aggregate::variance::{var_pop_udaf, var_samp_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    Signature,
};
use delegate::delegate;

/// Minimum average run length of a batch for which runs are used.
const MIN_MEAN_RUN: usize = 16;

/// All functions of this module.
pub(super) fn udafs() -> impl Iterator<Item = AggregateUDF> {
    let theirs = [
        stddev_udaf(),
        stddev_pop_udaf(),
        var_samp_udaf(),
        var_pop_udaf(),
    ];
    theirs
        .into_iter()
        .map(|theirs| AggregateUDF::from(RunDeviation { theirs }))
}

#[derive(Debug, Eq)]
struct RunDeviation {
    theirs: Arc<AggregateUDF>,
}

impl PartialEq for RunDeviation {
    fn eq(&self, other: &Self) -> bool {
        self.theirs == other.theirs
    }
}

impl Hash for RunDeviation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.theirs.name().hash(state);
    }
}

impl AggregateUDFImpl for RunDeviation {
    delegate! {
        to self.theirs {
            fn name(&self) -> &str;
            fn aliases(&self) -> &[String];
            fn signature(&self) -> &Signature;
            fn documentation(&self) -> Option<&Documentation>;
            fn return_type(&self, types: &[DataType]) -> Result<DataType>;
            fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>>;
            fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>>;
            fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>>;
            fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool;
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let theirs = self.theirs.create_groups_accumulator(args)?;
        Ok(Box::new(RunGroups { theirs }))
    }
}

/// DataFusion's group accumulator.
struct RunGroups {
    theirs: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for RunGroups {
    delegate! {
        to self.theirs {
            fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()>;
            fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef>;
            fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>>;
            fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>>;
            fn size(&self) -> usize;
        }
    }

    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        let found = match (values, filter) {
            ([values], None) => as_float64_array(values)?,
            _ => {
                return self
                    .theirs
                    .update_batch(values, groups, filter, group_count);
            }
        };
        let Some((states, groups)) = summarize_runs(found, groups) else {
            return self
                .theirs
                .update_batch(values, groups, filter, group_count);
        };
        self.theirs.merge_batch(&states, &groups, group_count)
    }
}

/// Summarizes each run of rows of a group as count, mean and sum of squared deviations, and returns the groups of the
/// runs. `None` if runs are short or values are missing.
fn summarize_runs(values: &Float64Array, groups: &[usize]) -> Option<(Vec<ArrayRef>, Vec<usize>)> {
    if values.null_count() > 0 {
        return None;
    }
    let most = groups.len() / MIN_MEAN_RUN;
    let (mut counts, mut means, mut squares) = (Vec::new(), Vec::new(), Vec::new());
    let mut runs = Vec::new();
    let mut first = 0;
    for run in groups.chunk_by(|one, next| one == next) {
        if runs.len() >= most {
            return None;
        }
        let rows: Range<usize> = first..first + run.len();
        first = rows.end;
        let (mean, around) = mean_and_squares(values.values().get(rows)?);
        counts.push(run.len() as u64);
        means.push(mean);
        squares.push(around);
        runs.extend(run.first());
    }
    let states: [ArrayRef; 3] = [
        Arc::new(UInt64Array::from(counts)),
        Arc::new(Float64Array::from(means)),
        Arc::new(Float64Array::from(squares)),
    ];
    Some((states.into(), runs))
}

/// The mean, and the sum of squared deviations from it.
fn mean_and_squares(values: &[f64]) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "number of rows of a batch")]
    let count = values.len() as f64;
    let mean = sum_in_lanes(values, |value| value) / count;
    let around = sum_in_lanes(values, |value| (value - mean) * (value - mean));
    // Rounding error of the mean.
    let rest = sum_in_lanes(values, |value| value - mean);
    let around = around - rest * rest / count;
    // Rounding may leave a negative sum for equal values, which has no square root.
    let around = if around < 0.0 { 0.0 } else { around };
    (mean + rest / count, around)
}

/// Sum in eight lanes, which the processor adds in parallel.
fn sum_in_lanes(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut parts = [0.0; 8];
    let chunks = values.chunks_exact(parts.len());
    let rest: f64 = chunks.remainder().iter().map(|value| of(*value)).sum();
    for chunk in chunks {
        for (part, value) in parts.iter_mut().zip(chunk) {
            *part += of(*value);
        }
    }
    parts.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, Int64Array, RecordBatch};
    use arrow::datatypes::{Float64Type, Int64Type};
    use datafusion::prelude::SessionContext;

    use super::*;

    async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
        context.sql(sql).await?.collect().await
    }

    fn deviation_context(batch: &RecordBatch, is_ours: bool) -> SessionContext {
        let context = SessionContext::new();
        if is_ours {
            udafs().for_each(|udaf| context.register_udaf(udaf));
        }
        context.register_batch("t", batch.clone()).unwrap();
        context
    }

    /// Groups with runs of this many rows, and values far from zero.
    fn rows(count: i64, run: i64, missing: bool) -> RecordBatch {
        let groups = (0..count).map(|row| row / run % 9);
        let value = |row: i64| {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let value = 1e9 + (row * 7919 % 10_007) as f64 / 7.0;
            (!missing || row % 13 != 0).then_some(value)
        };
        let groups: ArrayRef = Arc::new(Int64Array::from_iter_values(groups));
        let values: ArrayRef = Arc::new((0..count).map(value).collect::<Float64Array>());
        RecordBatch::try_from_iter_with_nullable([("g", groups, false), ("v", values, true)])
            .unwrap()
    }

    #[test]
    fn runs_are_what_their_rows_are() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        for (count, run, missing) in [
            (5000, 700, false),
            (5000, 1, false),
            (5000, 40, true),
            (40_000, 40_000, false),
            (1, 1, false),
        ] {
            let batch = rows(count, run, missing);
            for sql in [
                "SELECT g, count(*), stddev(v), stddev_samp(v), stddev_pop(v), var(v), var_samp(v), var_pop(v), var_population(v) FROM t GROUP BY g ORDER BY g",
                "SELECT g, stddev(v) FILTER (WHERE v > 1e9 + 100), var_sample(v), var(v * 0), stddev_pop(1.5), var(v) AS a, var(v) AS b, var(v) AS c FROM t GROUP BY g ORDER BY g",
            ] {
                let [ours, theirs] = [true, false].map(|is_ours| {
                    let batches = runtime
                        .block_on(collect(&deviation_context(&batch, is_ours), sql))
                        .unwrap();
                    arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
                });
                assert_eq!(ours.schema(), theirs.schema());
                assert_eq!(
                    ours.column(0).as_primitive::<Int64Type>(),
                    theirs.column(0).as_primitive::<Int64Type>()
                );
                for place in 2..ours.num_columns() {
                    let [one, other] = [&ours, &theirs]
                        .map(|batch| batch.column(place).as_primitive::<Float64Type>().clone());
                    for (one, other) in one.iter().zip(&other) {
                        assert_eq!(one.is_none(), other.is_none(), "{sql}");
                        let (one, other) = (one.unwrap_or(0.0), other.unwrap_or(0.0));
                        assert!(
                            (one - other).abs() <= 1e-6 * other.abs() + 1e-9,
                            "{one} {other}: {sql}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn runs_lose_no_digits() {
        let values: Vec<f64> = (0..1000_u32).map(|x| 1e9 + f64::from(x % 10)).collect();
        let groups = vec![3; values.len()];
        let (states, runs) = summarize_runs(&Float64Array::from(values), &groups).unwrap();
        assert_eq!(runs, [3]);
        let number = |place: usize| states[place].as_primitive::<Float64Type>().value(0);
        assert!((number(1) - (1e9 + 4.5)).abs() < 1e-6);
        assert!((number(2) - 8250.0).abs() < 1e-6, "{}", number(2));
        for count in 16..600 {
            for value in [0.1, 1.0 / 3.0, -7e-9, 1e18 / 7.0] {
                let (mean, around) = mean_and_squares(&vec![value; count]);
                assert!((mean - value).abs() <= 1e-15 * value.abs());
                let least = f64::EPSILON * value;
                assert!(
                    (0.0..=1e3 * least * least).contains(&around),
                    "{count} {value} {around}"
                );
            }
        }
        assert!(mean_and_squares(&[1.0, f64::INFINITY]).1.is_nan());
        let one = Float64Array::from(vec![Some(1.0), None]);
        assert!(summarize_runs(&one, &[0, 0]).is_none());
    }
}
