//! The metrics of GraphNet as aggregates over benchmark runs: `speedup_score` (S(t)),
//! `error_aware_speedup_score` (ES(t)), `aggregate_speedup_score`, `speedup_statistics`; and
//! `macro_speedup_score`, the paper's formula.
//!
//! | call | gives |
//! |---|---|
//! | `speedup_score(speedup, passes, status, t)` | S(t): geometric mean, a failure counts b |
//! | `error_aware_speedup_score(speedup, passes, status, t)` | ES(t): from t = 1 on tolerated failures count 1 |
//! | `speedup_statistics(speedup, passes, status, t)` | alpha, beta, lambda, eta, gamma and the scores by the formula |
//! | `aggregate_speedup_score(speedup, passes, status)` | weighted mean of log10 ES(t) |
//! | `macro_speedup_score(alpha, beta, lambda, eta, p, penalty)` | S(t) for the penalty b, ES(t) for gamma |
//!
//! Each aggregate also takes p (power added to slowdowns, 0), then b (what a failure counts, 0.1),
//! then `'default'` or `'mismatch_extended'` (which failures are tolerated from which t on).
//! `passes` and `status` are `runs.passes` and `runs.upstream_status`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Float64Builder, Int32Builder, ListArray, ListBuilder,
    StringBuilder, StructArray,
};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type, Int32Type};
use datafusion::common::cast::{as_float64_array, as_list_array};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ScalarUDF, Signature, TypeSignature, Volatility,
};
use tsql_metrics::speedup::{self, Interpretation, Params, Sample};

use super::lists::fields;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Metric {
    Score,
    ErrorAware,
    Aggregate,
    Statistics,
}

/// One of the metrics.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Speedup {
    name: &'static str,
    metric: Metric,
    signature: Signature,
}

/// All of them.
pub(super) fn all() -> Vec<AggregateUDF> {
    use DataType::{Float64, Int32, Int64, Utf8View};
    let one = |name, metric| {
        let mut types = vec![Float64, Int32, Utf8View];
        if metric != Metric::Aggregate {
            types.push(Int64);
        }
        let mut signatures = vec![TypeSignature::Exact(types.clone())];
        for more in [Float64, Float64, Utf8View] {
            types.push(more);
            signatures.push(TypeSignature::Exact(types.clone()));
        }
        let signature = Signature::one_of(signatures, Volatility::Immutable);
        AggregateUDF::from(Speedup {
            name,
            metric,
            signature,
        })
    };
    vec![
        one("speedup_score", Metric::Score),
        one("error_aware_speedup_score", Metric::ErrorAware),
        one("aggregate_speedup_score", Metric::Aggregate),
        one("speedup_statistics", Metric::Statistics),
    ]
}

/// The paper's formula.
pub(super) fn formula() -> ScalarUDF {
    let types = vec![DataType::Float64; 6];
    super::function("macro_speedup_score", types, DataType::Float64, formulas)
}

fn formulas(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut columns = Vec::new();
    for place in 0..6 {
        columns.push(as_float64_array(super::argument(args, place)?)?);
    }
    let rows = columns.first().map_or(0, |column| column.len());
    let score = |row: usize| {
        let at = |place: usize| {
            let column = columns.get(place)?;
            column.is_valid(row).then(|| column.value(row))
        };
        let (alpha, beta, lambda) = (at(0)?, at(1)?, at(2)?);
        Some(speedup::aggregated_score(
            alpha,
            beta,
            lambda,
            at(3)?,
            at(4)?,
            at(5)?,
        ))
    };
    let scores: Float64Array = (0..rows).map(score).collect();
    Ok(Arc::new(scores))
}

fn statistics_fields() -> Fields {
    use DataType::{Float64, Int64};
    fields([
        ("alpha", Float64),
        ("beta", Float64),
        ("lambda", Float64),
        ("eta", Float64),
        ("gamma", Float64),
        ("s", Float64),
        ("es", Float64),
        ("correct", Int64),
        ("total", Int64),
        ("slowdowns", Int64),
    ])
}

/// Lists that a state consists of: the samples, and t, p, b and the interpretation.
const STATE: [&str; 4] = ["speedups", "passes", "statuses", "settings"];

impl AggregateUDFImpl for Speedup {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.metric {
            Metric::Statistics => DataType::Struct(statistics_fields()),
            _ => DataType::Float64,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return exec_err!("{} takes no DISTINCT", self.name);
        }
        Ok(Box::new(Samples {
            metric: self.metric,
            settings: [None; 4],
            samples: Vec::new(),
        }))
    }

    fn state_fields(&self, _: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        use DataType::{Float64, Int32, Utf8};
        let types = [Float64, Int32, Utf8, Float64];
        let field = |(name, of): (&str, DataType)| {
            Arc::new(Field::new(name, DataType::new_list(of, true), true))
        };
        Ok(STATE.into_iter().zip(types).map(field).collect())
    }
}

/// The runs of one group.
#[derive(Debug)]
struct Samples {
    metric: Metric,
    /// t, p, b, and 0 or 1 for the interpretation, where they were given.
    settings: [Option<f64>; 4],
    samples: Vec<Sample>,
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(arrow::compute::cast(column, to)?)
}

impl Samples {
    /// Runs without a status are none.
    fn add(&mut self, speedups: &ArrayRef, passes: &ArrayRef, statuses: &ArrayRef) -> Result<()> {
        let speedups = cast(speedups, &DataType::Float64)?;
        let passes = cast(passes, &DataType::Int32)?;
        let statuses = cast(statuses, &DataType::Utf8)?;
        let speedups = speedups.as_primitive::<Float64Type>();
        let passes = passes.as_primitive::<Int32Type>();
        for ((speedup, passes), status) in
            speedups.iter().zip(passes).zip(statuses.as_string::<i32>())
        {
            let Some(status) = status else { continue };
            self.samples.push(Sample {
                speedup,
                passes: passes.unwrap_or(0).cast_unsigned(),
                status: status.to_owned(),
            });
        }
        Ok(())
    }

    fn params(&self) -> Params {
        let usual = Params::default();
        let [_, p, b, interpretation] = self.settings;
        Params {
            p: p.unwrap_or(usual.p),
            b: b.unwrap_or(usual.b),
            interpretation: match interpretation {
                Some(1.0) => Interpretation::MismatchExtended,
                _ => Interpretation::Default,
            },
        }
    }
}

impl Accumulator for Samples {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [speedups, passes, statuses, settings @ ..] = values else {
            return exec_err!("three arguments were promised");
        };
        self.add(speedups, passes, statuses)?;
        let first = usize::from(self.metric == Metric::Aggregate);
        for (slot, (place, column)) in self
            .settings
            .iter_mut()
            .skip(first)
            .zip((first..).zip(settings))
        {
            if slot.is_some() {
                continue;
            }
            *slot = if place == 3 {
                let names = cast(column, &DataType::Utf8)?;
                let name = names.as_string::<i32>().iter().flatten().next();
                match name {
                    None => None,
                    Some("default") => Some(0.0),
                    Some("mismatch_extended") => Some(1.0),
                    Some(other) => {
                        return exec_err!(
                            "interpretation `{other}`: it is 'default' or 'mismatch_extended'"
                        );
                    }
                }
            } else {
                let numbers = cast(column, &DataType::Float64)?;
                numbers
                    .as_primitive::<Float64Type>()
                    .iter()
                    .flatten()
                    .next()
            };
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let params = self.params();
        let [t, ..] = self.settings;
        let t = t.map_or(0, whole);
        let value = match self.metric {
            Metric::Score => speedup::speedup_score(&self.samples, t, &params),
            Metric::ErrorAware => speedup::error_aware_speedup_score(&self.samples, t, &params),
            Metric::Aggregate => speedup::aggregate_score(&self.samples, &params),
            Metric::Statistics => return statistics(&self.samples, t, &params),
        };
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        let text: usize = self.samples.iter().map(|one| one.status.capacity()).sum();
        size_of_val(self) + self.samples.capacity() * size_of::<Sample>() + text
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut speedups = ListBuilder::new(Float64Builder::new());
        let mut passes = ListBuilder::new(Int32Builder::new());
        let mut statuses = ListBuilder::new(StringBuilder::new());
        let mut settings = ListBuilder::new(Float64Builder::new());
        speedups.append_value(self.samples.iter().map(|one| one.speedup));
        passes.append_value(
            self.samples
                .iter()
                .map(|one| Some(one.passes.cast_signed())),
        );
        statuses.append_value(self.samples.iter().map(|one| Some(&one.status)));
        settings.append_value(self.settings);
        Ok(vec![
            ScalarValue::List(Arc::new(speedups.finish())),
            ScalarValue::List(Arc::new(passes.finish())),
            ScalarValue::List(Arc::new(statuses.finish())),
            ScalarValue::List(Arc::new(settings.finish())),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states
            .iter()
            .map(|state| as_list_array(state))
            .collect::<Result<Vec<&ListArray>>>()?;
        let [speedups, passes, statuses, settings] = lists.as_slice() else {
            return exec_err!("a state has four lists");
        };
        for row in 0..speedups.len() {
            let (speedups, passes) = (speedups.value(row), passes.value(row));
            self.add(&speedups, &passes, &statuses.value(row))?;
            let given = settings.value(row);
            let given = given.as_primitive::<Float64Type>().iter();
            for (slot, given) in self.settings.iter_mut().zip(given) {
                *slot = slot.or(given);
            }
        }
        Ok(())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "levels beyond those of a bit mask pass nowhere"
)]
fn whole(t: f64) -> i32 {
    t as i32
}

fn statistics(samples: &[Sample], t: i32, params: &Params) -> Result<ScalarValue> {
    let found = speedup::macro_score(samples, t, params);
    let float = |number: fn(&speedup::Macro) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from(vec![found.as_ref().map(number)]))
    };
    let count = |number: fn(&speedup::Macro) -> u64| -> ArrayRef {
        let number = found.as_ref().map(|found| number(found).cast_signed());
        Arc::new(arrow::array::Int64Array::from(vec![number]))
    };
    let columns = vec![
        float(|found| found.alpha),
        float(|found| found.beta),
        float(|found| found.lambda),
        float(|found| found.eta),
        float(|found| found.gamma),
        float(|found| found.s),
        float(|found| found.es),
        count(|found| found.correct),
        count(|found| found.total),
        count(|found| found.slowdowns),
    ];
    let structs = StructArray::try_new(statistics_fields(), columns, None)?;
    Ok(ScalarValue::Struct(Arc::new(structs)))
}
