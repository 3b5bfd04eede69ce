//! What a predicate chooses: lines of sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::cast::as_int64_array;
use datafusion::logical_expr::{ColumnarValue, Expr, Volatility, create_udf};
use datafusion::prelude::{SessionContext, col, lit};
use futures::StreamExt as _;

use crate::column;
use crate::error::{Error, Result};
use crate::query::frame;
use crate::store::LISTED;

/// Lines of sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines(BTreeMap<i64, Vec<i64>>);

impl Lines {
    /// The rows of `from` that a predicate chooses, which may name their file as `source`.
    pub(crate) async fn of(context: &SessionContext, from: &str, predicate: &str) -> Result<Self> {
        let sql = format!(
            "SELECT source_id, line FROM \
             (SELECT r.*, f.name AS source FROM {from} AS r LEFT JOIN \
              (SELECT source_id AS of_id, name FROM sources) AS f ON f.of_id = r.source_id) AS chosen \
             WHERE ({predicate})"
        );
        let mut lines = Self::default();
        let stream = frame(context, &sql).await?.execute_stream().await;
        let mut stream = stream.map_err(Error::Query)?;
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(Error::Query)?;
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let numbers = column::numbers::<Int64Type>(&batch, "line")?;
            lines.add(sources.values(), numbers.values());
        }
        lines.sort();
        Ok(lines)
    }

    /// Adds lines, each beside its source.
    pub(crate) fn add(&mut self, sources: &[i64], lines: &[i64]) {
        for (source, line) in sources.iter().zip(lines) {
            self.0.entry(*source).or_default().push(*line);
        }
    }

    /// Adds those of others.
    pub(crate) fn extend(&mut self, others: &Self) {
        for (source, lines) in &others.0 {
            self.0.entry(*source).or_default().extend(lines);
        }
        self.sort();
    }

    /// Brings what was added into its order.
    pub(crate) fn sort(&mut self) {
        for lines in self.0.values_mut() {
            lines.sort_unstable();
            lines.dedup();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many they are.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(|lines| lines.len() as u64).sum()
    }

    /// Their sources.
    pub(crate) fn sources(&self) -> BTreeSet<i64> {
        self.0.keys().copied().collect()
    }

    /// How many each source has.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (i64, u64)> {
        self.0
            .iter()
            .map(|(source, lines)| (*source, lines.len() as u64))
    }

    /// Are some of them of this source?
    pub(crate) fn has(&self, source: i64) -> bool {
        self.0.contains_key(&source)
    }

    /// Leaves out those of other sources.
    pub(crate) fn only(&mut self, is_wanted: impl Fn(i64) -> bool) {
        self.0.retain(|source, _| is_wanted(*source));
    }

    /// A row for each: `chosen_id` and `chosen_line`.
    pub(crate) fn batch(&self) -> Result<RecordBatch> {
        let all = self.0.iter();
        let all = all.flat_map(|(source, lines)| lines.iter().map(move |line| (*source, *line)));
        let (sources, lines): (Vec<i64>, Vec<i64>) = all.unzip();
        let columns = [("chosen_id", sources), ("chosen_line", lines)];
        let columns = columns.map(|(name, numbers)| {
            let numbers: ArrayRef = Arc::new(Int64Array::from(numbers));
            (name, numbers)
        });
        RecordBatch::try_from_iter(columns).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Leaves out what is from this line of a source on.
    pub(crate) fn before(&mut self, end: impl Fn(i64) -> i64) {
        for (source, lines) in &mut self.0 {
            let end = end(*source);
            lines.retain(|line| *line < end);
        }
        self.0.retain(|_, lines| !lines.is_empty());
    }

    /// Leaves out those of others.
    pub(crate) fn without(&mut self, others: &Self) {
        for (source, lines) in &mut self.0 {
            if let Some(others) = others.0.get(source) {
                lines.retain(|line| others.binary_search(line).is_err());
            }
        }
        self.0.retain(|_, lines| !lines.is_empty());
    }

    /// A row of them, in a table with `source_id` and `line`.
    pub(crate) fn filter(&self) -> Expr {
        let lines = Arc::new(self.0.clone());
        let is_chosen = move |args: &[ColumnarValue]| {
            let arrays = ColumnarValue::values_to_arrays(args)?;
            let [sources, numbers] = arrays.as_slice() else {
                let wrong = "is_chosen takes two arguments".to_owned();
                return Err(datafusion::error::DataFusionError::Internal(wrong));
            };
            let (sources, numbers) = (as_int64_array(sources)?, as_int64_array(numbers)?);
            let pairs = sources.values().iter().zip(numbers.values());
            let found = pairs.map(|(source, line)| {
                let lines = lines.get(source);
                lines.is_some_and(|lines| lines.binary_search(line).is_ok())
            });
            let found: BooleanArray = found.map(Some).collect();
            Ok(ColumnarValue::Array(Arc::new(found) as ArrayRef))
        };
        let function = create_udf(
            "is_chosen",
            vec![DataType::Int64, DataType::Int64],
            DataType::Boolean,
            Volatility::Immutable,
            Arc::new(is_chosen),
        );
        let chosen = function.call(vec![col("source_id"), col("line")]);
        if self.0.len() > LISTED {
            return chosen;
        }
        among(self.0.keys().copied()).and(chosen)
    }
}

/// A row of one of these sources.
pub(crate) fn among(sources: impl Iterator<Item = i64>) -> Expr {
    col("source_id").in_list(sources.map(lit).collect(), false)
}

/// Nothing is chosen.
pub(crate) fn nothing(from: &str, predicate: &str) -> Error {
    Error::Empty(format!(
        "no row of {from} matches `{predicate}`\nhint: `tsql \"SELECT * FROM {from} LIMIT 5\"` shows what there is"
    ))
}

/// Everything is chosen, which nobody has asked for.
pub(crate) fn everything(from: &str) -> Error {
    Error::Argument {
        name: "all",
        reason: format!("that is every row of {from}\nhint: --all, if it is meant"),
    }
}
