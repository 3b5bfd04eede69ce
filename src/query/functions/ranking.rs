//! The metrics of TpuGraphs as aggregates: `top_k_error`, `kendall_tau_b`,
//! `ordered_pair_accuracy`, `tile_score`, `layout_score`.
//!
//! | call | NULL scores | of one graph |
//! |---|---|---|
//! | `top_k_error(runtime, score, k [, index])` | not among the k, but among all | best of the k lowest scores over the best of all, minus 1 |
//! | `kendall_tau_b(runtime, score)` | left out | tau-b, with ties corrected |
//! | `ordered_pair_accuracy(runtime, score)` | left out | pairs in the right order; equal scores are wrong |
//! | `tile_score(runtime, score [, index])` | as `top_k_error` | 1 - `top_k_error(.., 5)`, Kaggle's row score |
//! | `layout_score(runtime, score)` | left out | `kendall_tau_b`, Kaggle's row score |
//!
//! Rows without a runtime are left out. Of equal scores the lower `index` comes first, or, where
//! none is given, the row that came first.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Float64Builder, ListArray, ListBuilder,
};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::cast::{as_float64_array, as_list_array};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility,
};
use tsql_metrics::ranking::{Pair, kendall_tau_b, ordered_pair_accuracy, top_k_error};

/// Configurations that a row of Kaggle's tile collection names.
const TILE_K: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Metric {
    TopKError,
    KendallTauB,
    OrderedPairAccuracy,
    TileScore,
}

/// One of the metrics.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Ranking {
    name: &'static str,
    metric: Metric,
    signature: Signature,
}

/// All of them.
pub(super) fn all() -> Vec<AggregateUDF> {
    use DataType::{Float64, Int64};
    let two = vec![Float64, Float64];
    let k = vec![Float64, Float64, Int64];
    let k_index = vec![Float64, Float64, Int64, Int64];
    let index = vec![Float64, Float64, Int64];
    let one = |name, metric, signatures: Vec<Vec<DataType>>| {
        let signatures = signatures.into_iter().map(TypeSignature::Exact).collect();
        let signature = Signature::one_of(signatures, Volatility::Immutable);
        AggregateUDF::from(Ranking {
            name,
            metric,
            signature,
        })
    };
    vec![
        one("top_k_error", Metric::TopKError, vec![k, k_index]),
        one("kendall_tau_b", Metric::KendallTauB, vec![two.clone()]),
        one(
            "ordered_pair_accuracy",
            Metric::OrderedPairAccuracy,
            vec![two.clone()],
        ),
        one("tile_score", Metric::TileScore, vec![two.clone(), index]),
        one("layout_score", Metric::KendallTauB, vec![two]),
    ]
}

/// Names of the lists that a state consists of, as long as each other.
const STATE: [&str; 4] = ["runtime", "score", "k", "index"];

impl AggregateUDFImpl for Ranking {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return exec_err!("{} takes no DISTINCT", self.name);
        }
        Ok(Box::new(Ranked {
            metric: self.metric,
            best: None,
            k: None,
            rows: Vec::new(),
        }))
    }

    fn state_fields(&self, _: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |name: &str| {
            let list = DataType::new_list(DataType::Float64, true);
            Arc::new(Field::new(name, list, true))
        };
        Ok(STATE.iter().map(|name| field(name)).collect())
    }
}

/// The configurations of one group.
#[derive(Debug)]
struct Ranked {
    metric: Metric,
    /// Least runtime of all.
    best: Option<f64>,
    k: Option<f64>,
    /// Those with a score: index (NaN for none) and pair.
    rows: Vec<(f64, Pair)>,
}

impl Ranked {
    fn add(&mut self, columns: &[Option<&Float64Array>; 4]) {
        let [Some(runtimes), Some(scores), ks, indices] = columns else {
            return;
        };
        let at = |column: &Option<&Float64Array>, row: usize| {
            column.and_then(|column| column.is_valid(row).then(|| column.value(row)))
        };
        for (row, runtime) in runtimes.iter().enumerate() {
            self.k = self.k.or(at(ks, row));
            let Some(runtime) = runtime else { continue };
            self.best = Some(self.best.map_or(runtime, |best| best.min(runtime)));
            if let Some(score) = at(&Some(scores), row) {
                let index = at(indices, row).unwrap_or(f64::NAN);
                self.rows.push((index, Pair { runtime, score }));
            }
        }
    }
}

fn floats(column: &ArrayRef) -> Result<Float64Array> {
    let floats = arrow::compute::cast(column, &DataType::Float64)?;
    Ok(as_float64_array(&floats)?.clone())
}

impl Accumulator for Ranked {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let columns = values.iter().map(floats).collect::<Result<Vec<_>>>()?;
        let column = |place: usize| columns.get(place);
        let (runtimes, scores) = (column(0), column(1));
        self.add(&match self.metric {
            Metric::TopKError => [runtimes, scores, column(2), column(3)],
            _ => [runtimes, scores, None, column(2)],
        });
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let pairs: Vec<Pair> = self.rows.iter().map(|(_, pair)| *pair).collect();
        let top = |k| top_k_error(self.best, &pairs, k);
        let value = match self.metric {
            Metric::TopKError => match self.k {
                None => None,
                Some(k) if k >= 1.0 => top(whole(k)),
                Some(k) => return exec_err!("top_k_error: k is {k}, it must be 1 or more"),
            },
            Metric::TileScore => top(TILE_K).map(|error| 1.0 - error),
            Metric::KendallTauB => kendall_tau_b(&pairs),
            Metric::OrderedPairAccuracy => ordered_pair_accuracy(&pairs),
        };
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.rows.capacity() * size_of::<(f64, Pair)>()
    }

    /// A first row without a score that holds the least runtime and k, then the others.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let rows = self.rows.len() + 1;
        let mut columns: [Float64Builder; 4] =
            std::array::from_fn(|_| Float64Builder::with_capacity(rows));
        let [runtimes, scores, ks, indices] = &mut columns;
        runtimes.append_option(self.best);
        scores.append_null();
        ks.append_option(self.k);
        indices.append_null();
        for (index, pair) in &self.rows {
            runtimes.append_value(pair.runtime);
            scores.append_value(pair.score);
            ks.append_null();
            indices.append_value(*index);
        }
        let list = |values: Float64Builder| {
            let mut list = ListBuilder::new(values);
            list.append(true);
            ScalarValue::List(Arc::new(list.finish()))
        };
        Ok(columns.into_iter().map(list).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states
            .iter()
            .map(|state| as_list_array(state))
            .collect::<Result<Vec<&ListArray>>>()?;
        let rows = lists.first().map_or(0, |list| list.len());
        for row in 0..rows {
            let values: Vec<ArrayRef> = lists.iter().map(|list| list.value(row)).collect();
            let column = |place: usize| {
                let values = values.get(place);
                values.and_then(|values| values.as_primitive_opt::<Float64Type>())
            };
            self.add(&[column(0), column(1), column(2), column(3)]);
        }
        Ok(())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is at least 1, and a k that is too large takes all"
)]
fn whole(k: f64) -> usize {
    k as usize
}
