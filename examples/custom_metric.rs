//! Adds an aggregate function to a session: how close the tuned programs of a platform are to their best, as a
//! geometric mean.
//!
//! ```console
//! $ cargo run --example custom_metric
//! ```
//!
//! A metric that every user needs belongs into `crates/metrics` instead, where SQL and Python find it.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::sync::Arc;

use tsql::Store;
use tsql::arrow::array::{ArrayRef, AsArray as _};
use tsql::arrow::datatypes::{DataType, Float64Type};
use tsql::arrow::util::pretty::pretty_format_batches;
use tsql::datafusion::common::{Result, ScalarValue};
use tsql::datafusion::logical_expr::{Accumulator, Volatility, create_udaf};

/// The geometric mean of positive numbers; NULLs are ignored, and no numbers have no mean.
#[derive(Debug, Default)]
struct GeometricMean {
    count: f64,
    sum_of_logarithms: f64,
}

impl Accumulator for GeometricMean {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values
            .iter()
            .flat_map(|column| column.as_primitive::<Float64Type>())
            .flatten()
        {
            self.count += 1.0;
            self.sum_of_logarithms += value.ln();
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.count.into(), self.sum_of_logarithms.into()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let mut states = states
            .iter()
            .map(|column| column.as_primitive::<Float64Type>());
        let counts = states.next().into_iter().flatten().flatten();
        let sums = states.next().into_iter().flatten().flatten();
        self.count += counts.sum::<f64>();
        self.sum_of_logarithms += sums.sum::<f64>();
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mean = (self.count > 0.0).then(|| (self.sum_of_logarithms / self.count).exp());
        Ok(ScalarValue::Float64(mean))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let context = Store::demo().await?.session().await?;
    context.register_udaf(create_udaf(
        "geometric_mean",
        vec![DataType::Float64],
        Arc::new(DataType::Float64),
        Volatility::Immutable,
        Arc::new(|_| Ok(Box::<GeometricMean>::default())),
        Arc::new(vec![DataType::Float64; 2]),
    ));
    let sql = "
        WITH tasks AS (
          SELECT platform, min(runtime_ns) OVER (PARTITION BY platform, graph_id) / runtime_ns AS throughput
          FROM records WHERE status = 'ok'
        )
        SELECT platform, round(geometric_mean(throughput), 4) AS throughput
        FROM tasks GROUP BY platform ORDER BY platform";
    let frame = tsql::query::run_sql(&context, sql, &[]).await?;
    println!("{}", pretty_format_batches(&frame.collect().await?)?);
    Ok(())
}
