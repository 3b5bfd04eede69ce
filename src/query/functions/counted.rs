//! Aggregates that follow from how often each value is there: `mode(x)`, `quantile_disc(x, share)`, `histogram(x)`.
//!
//! Of values of any type that has an order; NULLs do not count. Memory is that of the different values.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::physical_expr::expressions::Literal;

use super::about::About;
use super::aggregate::{Aggregate, Gathering};
use super::counts::{Asked, Counts, entries, plain};

/// All of them.
pub(super) fn all() -> [Aggregate; 3] {
    [mode(), quantile_disc(), histogram()]
}

fn mode() -> Aggregate {
    let about = About::new(
        "mode",
        "The value that is there most often; of several such the least",
        "SELECT mode(error_no) FROM records",
    )
    .takes("value", None, "anything that has an order")
    .by("DuckDB, mode; of several such DuckDB takes the one that it met first");
    Aggregate::new(&about, Counting(Asked::Mode))
}

fn quantile_disc() -> Aggregate {
    let about = About::new(
        "quantile_disc",
        "The least value that at least this share of the values does not exceed: always one of them, never between two",
        "SELECT quantile_disc(runtime_ns, 0.9) FROM records",
    )
    .takes("value", None, "anything that has an order")
    .takes("share", None, "from 0 to 1, written out, or a list of such")
    .by("SQL:2003, percentile_disc; DuckDB, quantile_disc");
    Aggregate::new(&about, Counting(Asked::Quantile)).alias("quantile")
}

fn histogram() -> Aggregate {
    let about = About::new(
        "histogram",
        "How often each value is there: a map from the values, in order, to their numbers",
        "SELECT histogram(status) FROM records",
    )
    .takes("value", None, "anything that has an order")
    .by("DuckDB, histogram");
    Aggregate::new(&about, Counting(Asked::Histogram))
}

#[derive(Debug)]
struct Counting(Asked);

impl Gathering for Counting {
    fn gives(&self, arguments: &[DataType]) -> Result<DataType> {
        let Some(value) = arguments.first() else {
            return plan_err!("a value is needed");
        };
        let value = plain(value);
        Ok(match self.0 {
            Asked::Mode | Asked::Quantile => value.clone(),
            Asked::Histogram => DataType::Map(entries(value), true),
        })
    }

    fn gatherer(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let value = args
            .expr_fields
            .first()
            .map(|field| plain(field.data_type()));
        let Some(value) = value else {
            return plan_err!("a value is needed");
        };
        let share = match self.0 {
            Asked::Quantile => share(args)?,
            Asked::Mode | Asked::Histogram => 0.0,
        };
        let distinct = args.is_distinct;
        Ok(Box::new(Counts::new(self.0, value, share, distinct)?))
    }

    fn state(&self, given: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        let value = given.first().map(|field| plain(field.data_type()));
        let list = |of: &DataType| DataType::new_list(of.clone(), true);
        vec![
            ("values", list(value.unwrap_or(&DataType::Null))),
            ("counts", list(&DataType::UInt64)),
        ]
    }
}

/// The second argument of a quantile.
fn share(args: &AccumulatorArgs) -> Result<f64> {
    let share = args.exprs.get(1);
    let share = share.and_then(|share| share.downcast_ref::<Literal>());
    let share = share.and_then(|share| share.value().cast_to(&DataType::Float64).ok());
    match share {
        Some(ScalarValue::Float64(Some(share))) if (0.0..=1.0).contains(&share) => Ok(share),
        Some(ScalarValue::Float64(Some(share))) => {
            plan_err!("quantile_disc takes a number from 0 to 1, not {share}")
        }
        _ => plan_err!("quantile_disc takes a number from 0 to 1 that is written out"),
    }
}
